/** The page: asks its server what it is to show, a cluster or an operator's inside, and shows it. */
import { render } from 'preact';
import { ReadError, readJson, takeSecret } from './data/reading.ts';
import { OperatorPage } from './operator/operator-page.tsx';
import { ClusterPage } from './views/cluster-page.tsx';
import { SignIn } from './views/sign-in.tsx';

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
  const isUnknown = err instanceof ReadError && (err.code === 401 || err.code === 403);
  // Only the server itself takes a token: the page of `longwatch dashboard` has its link.
  if (isUnknown && location.pathname === '/ui/') render(<SignIn />, place);
  else
    render(
      <p role="alert" class="problem">
        {why}
      </p>,
      place,
    );
}
