/** A cluster in views, all fed by one sampler. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ClusterSampler } from '../data/cluster-sampler.ts';
import { type Tab, TabbedPage } from '../parts/tabs.tsx';
import { ChainView } from './chain-view.tsx';
import { FlowView } from './flow-view.tsx';
import { GoneView } from './gone-view.tsx';
import { HistoryView } from './history-view.tsx';
import { PlotsView } from './plots-view.tsx';
import { StreamView } from './stream-view.tsx';
import { WatchesView } from './watches-view.tsx';

export type ClusterPageProps = { readonly name: string; readonly server: string; readonly root: string };

export function ClusterPage({ name, server, root }: ClusterPageProps) {
  const [version, setVersion] = useState(0);
  const sampler = useMemo(() => new ClusterSampler(root, () => setVersion((before) => before + 1)), [root]);
  useEffect(() => {
    const stop = new AbortController();
    void sampler.run(stop.signal);
    return () => stop.abort();
  }, [sampler]);
  const tabs: readonly Tab[] = [
    { id: 'chain', title: 'Chain', show: () => <ChainView sampler={sampler} /> },
    { id: 'plots', title: 'Plots', show: () => <PlotsView sampler={sampler} version={version} /> },
    { id: 'watches', title: 'Watches', show: () => <WatchesView sampler={sampler} /> },
    { id: 'gone', title: '410s', show: () => <GoneView sampler={sampler} /> },
    { id: 'history', title: 'History', show: () => <HistoryView root={root} state={sampler.state} /> },
    { id: 'stream', title: 'Stream', show: () => <StreamView root={root} /> },
    { id: 'flow', title: 'Flow control', show: () => <FlowView sampler={sampler} /> },
  ];
  const detail = server === name ? '' : server;
  return <TabbedPage heading={name} detail={detail} tabs={tabs} problem={sampler.state.problem} />;
}
