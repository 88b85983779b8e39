/** The views, as links that the address names, so that back, forward and a bookmark work; keys 1 to 9 lead there too. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

export type Tab = { readonly id: string; readonly title: string; readonly show: () => ComponentChildren };

type PageProps = {
  readonly heading: string;
  readonly detail: string;
  readonly tabs: readonly Tab[];
  readonly problem: string | undefined;
};

export function TabbedPage({ heading, detail, tabs, problem }: PageProps) {
  const [id, setId] = useState(idInAddress());
  const current = tabs.find((tab) => tab.id === id) ?? tabs[0]!;
  useEffect(() => {
    const onMove = () => setId(idInAddress());
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const tab = /^[1-9]$/.test(event.key) ? tabs[Number(event.key) - 1] : undefined;
      if (tab) location.hash = `#/${tab.id}`;
      else if (event.key === '/') focusFilter(event);
    };
    addEventListener('hashchange', onMove);
    addEventListener('keydown', onKey);
    return () => {
      removeEventListener('hashchange', onMove);
      removeEventListener('keydown', onKey);
    };
  }, [tabs]);
  useEffect(() => {
    document.title = `${current.title} · ${heading} · Longwatch`;
  }, [current.title, heading]);
  return (
    <>
      <a class="skip" href="#main">
        To the view
      </a>
      <header>
        <h1>
          {heading} <small>{detail}</small>
        </h1>
        <nav aria-label="Views">
          {tabs.map(({ id: one, title }, i) => (
            <a
              key={one}
              href={`#/${one}`}
              aria-current={one === current.id ? 'page' : undefined}
              title={`key ${i + 1}`}
            >
              {title}
            </a>
          ))}
        </nav>
      </header>
      <p role="status" class={problem === undefined ? 'quiet' : 'problem'}>
        {problem ?? ''}
      </p>
      <main id="main" tabIndex={-1}>
        <h2>{current.title}</h2>
        {current.show()}
      </main>
      <footer>keys: 1–{tabs.length} views, / filter; read only</footer>
    </>
  );
}

function idInAddress(): string {
  return /^#\/([a-z]+)/.exec(location.hash)?.[1] ?? '';
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
}

function focusFilter(event: KeyboardEvent): void {
  const field = document.querySelector<HTMLInputElement>('main input');
  if (!field) return;
  event.preventDefault();
  field.focus();
}
