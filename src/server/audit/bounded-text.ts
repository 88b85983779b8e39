/**
 * Cuts what clients choose (names, paths, headers) so that one line of a log has a bound in bytes. One of these per line:
 * it remembers whether anything was cut.
 */

/** Of one text, as UTF-8. */
const TEXT_BYTES = 1024;
/** Of all texts of one list together. */
const LIST_BYTES = 4 * 1024;

export class BoundedText {
  wasCut = false;

  cut(text: string): string {
    if (text.length * 3 <= TEXT_BYTES || Buffer.byteLength(text) <= TEXT_BYTES) return text;
    this.wasCut = true;
    // No more of it is looked at than could fit; a character that the cut goes through is left out.
    const bytes = Buffer.from(text.slice(0, TEXT_BYTES));
    let end = Math.min(bytes.length, TEXT_BYTES);
    while (end > 0 && end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end--;
    return bytes.toString('utf8', 0, end);
  }

  cutList(texts: readonly string[]): string[] {
    const kept: string[] = [];
    let left = LIST_BYTES;
    for (const text of texts) {
      const short = this.cut(text);
      left -= Buffer.byteLength(short) + 1;
      if (left < 0) {
        this.wasCut = true;
        break;
      }
      kept.push(short);
    }
    return kept;
  }

  cutLists(lists: Readonly<Record<string, readonly string[]>>): Record<string, string[]> {
    const kept: [string, string[]][] = [];
    let left = LIST_BYTES;
    for (const [name, texts] of Object.entries(lists)) {
      const [shortName = '', ...short] = this.cutList([name, ...texts]);
      left -= [shortName, ...short].reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
      if (left < 0) {
        this.wasCut = true;
        break;
      }
      kept.push([shortName, short]);
    }
    return Object.fromEntries(kept); // also for a name like __proto__
  }
}
