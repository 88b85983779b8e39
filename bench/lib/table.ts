/** Figures as text: numbers short enough to compare, tables that are read as they are printed. */
export function show(value: number): string {
  if (Number.isNaN(value)) return '';
  if (Math.abs(value) >= 100) return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ' ');
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

export function printTable(head: readonly string[], body: readonly (readonly string[])[]): void {
  const widths = head.map((_, column) => Math.max(...[head, ...body].map((cells) => cells[column]!.length), 3));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  console.log(line(head));
  console.log(line(widths.map((width) => '-'.repeat(width))));
  for (const cells of body) console.log(line(cells));
}
