/** Asks for a token of the API, where the server itself serves the page and does not know who looks. */
import { useState } from 'preact/hooks';
import { signIn } from '../data/reading.ts';

export function SignIn() {
  const [problem, setProblem] = useState('');
  return (
    <main class="sign-in">
      <h1>Sign in</h1>
      <p>
        With a bearer token, as for any request to this server: that of the administrator is in its data folder, others
        are made by <code>kubectl create token</code>. It is exchanged for a session and not kept.
      </p>
      <form
        class="fields"
        onSubmit={(event) => {
          event.preventDefault();
          const token = String(new FormData(event.currentTarget).get('token') ?? '').trim();
          signIn(token).then(
            () => location.reload(),
            (err: Error) => setProblem(err.message),
          );
        }}
      >
        <label>
          Token <input name="token" type="password" required autocomplete="off" />
        </label>
        <button type="submit">Sign in</button>
      </form>
      <p role="alert" class="problem">
        {problem}
      </p>
    </main>
  );
}
