/** The Chromium on the PATH, driven as a user drives it. With CI=true a missing one is a failure. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { eventually } from '../../support/eventually.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

export function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
  if (found === undefined && process.env.CI === 'true')
    throw new Error('Cannot run the tests: CI=true needs a real Chromium on the PATH');
  return found;
}

/** Patient: the machine may be loaded. */
export const PATIENCE_MS = 60_000;

export async function startChromium(executablePath: string): Promise<Browser> {
  // Whoever runs tests as root, or in a container, has no sandbox; it meets no page but ours.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout: PATIENCE_MS });
}

/** A page that fails the test that looks at `faults`: of its scripts, its policy, and whatever asks another server. */
export async function openPage(browser: Browser, options = {}): Promise<{ page: Page; faults: string[] }> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const faults: string[] = [];
  page.on('pageerror', (err) => faults.push(`error: ${err.message}`));
  page.on('console', (line) => {
    if (line.type() === 'error' && !/^Failed to load resource/.test(line.text())) faults.push(line.text());
  });
  let host: string | undefined;
  page.on('request', (request) => {
    const url = new URL(request.url());
    host ??= url.host;
    if (url.host !== host) faults.push(`asked ${url.href}`);
  });
  return { page, faults };
}

/** Whether one of the elements reads so, sooner or later. */
export async function expectText(page: Page, selector: string, text: RegExp): Promise<void> {
  const read = async () => {
    const texts = await page.locator(selector).allTextContents();
    expect(texts).toContainEqual(expect.stringMatching(text));
  };
  await eventually(read, PATIENCE_MS);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
