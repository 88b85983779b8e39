/**
 * One plot over time, by uPlot: drawn anew when its data has changed, its width or the colour scheme. What it shows last and at
 * most stands in its caption, for those who cannot see it.
 */

import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { greatestOf } from '../../api/extremes.ts';
import type { Series } from '../data/series.ts';

type PlotProps = {
  readonly title: string;
  readonly series: readonly { readonly label: string; readonly of: Series; readonly tone: string }[];
  readonly show: (value: number) => string;
  /** Anything that is another one when there is more to draw. */
  readonly version: number;
};

const HEIGHT = 150;

export function Plot({ title, series, show, version }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  useEffect(() => {
    const place = box.current!;
    const make = () => {
      plot.current?.destroy();
      const tones = getComputedStyle(place);
      const tone = (name: string) => tones.getPropertyValue(`--${name}`).trim();
      const axis = { stroke: tone('quiet'), grid: { stroke: tone('line'), width: 1 }, ticks: { show: false } };
      plot.current = new uPlot(
        {
          width: place.clientWidth || 300,
          height: HEIGHT,
          legend: { show: false },
          cursor: { y: false },
          scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
          axes: [axis, { ...axis, size: 56, values: (_plot, ticks) => ticks.map((tick) => show(tick)) }],
          series: [
            {},
            ...series.map(({ label, tone: name }) => ({
              label,
              stroke: tone(name),
              width: 2,
              fill: `${tone(name)}22`,
              points: { show: false },
              spanGaps: true,
            })),
          ],
        },
        dataOf(series),
        place,
      );
    };
    make();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: place.clientWidth, height: HEIGHT }));
    resized.observe(place);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', make);
    return () => {
      scheme.removeEventListener('change', make);
      resized.disconnect();
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData(dataOf(series)), [version]);
  return (
    <figure class="plot">
      <figcaption>
        <strong>{title}</strong>
        {series.map(({ label, of, tone }) => (
          <span key={label}>
            <i class={`swatch ${tone}`} aria-hidden="true" />
            {label} <b>{of.last === undefined ? 'not known' : show(of.last)}</b>{' '}
            <small>(at most {show(of.highest)})</small>
          </span>
        ))}
      </figcaption>
      <div ref={box} aria-hidden="true" />
    </figure>
  );
}

function dataOf(series: PlotProps['series']): uPlot.AlignedData {
  const [first] = series;
  return [first?.of.times ?? [], ...series.map(({ of }) => of.values)] as uPlot.AlignedData;
}

/** A line of the last minute, as high as a line of text. */
export function Sparkline({ of, label }: { readonly of: Series | undefined; readonly label: string }) {
  const values = (of?.values ?? []).slice(-60).map((value) => value ?? 0);
  const high = Math.max(1, greatestOf(values));
  const points = values.map((value, i) => `${i * 1.5},${(17 - (value / high) * 15).toFixed(1)}`).join(' ');
  return (
    <svg class="sparkline" viewBox="0 0 90 18" role="img" aria-label={label}>
      <polyline points={points} />
    </svg>
  );
}
