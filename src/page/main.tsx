/** The page: asks its server what it is to show, a cluster or an operator's inside, and shows it. */
import { render } from 'preact';
import { ReadError, readJson, takeSecret } from './data/reading.ts';
import { OperatorPage } from './operator/operator-page.tsx';
import { ClusterPage } from './views/cluster-page.tsx';

type About =
  | { readonly kind: 'cluster'; readonly name: string; readonly server: string; readonly root: string }
  | { readonly kind: 'operator'; readonly name: string };

const place = document.getElementById('page')!;
takeSecret();
try {
  const about = await readJson<About>('page.json');
  render(about.kind === 'operator' ? <OperatorPage {...about} /> : <ClusterPage {...about} />, place);
} catch (err) {
  const why = err instanceof ReadError ? err.message : String(err);
  render(
    <p role="alert" class="problem">
      {why}
    </p>,
    place,
  );
}
