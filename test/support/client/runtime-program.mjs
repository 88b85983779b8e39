/**
 * What a program does with a cluster, step by step, each told in a line: run by Node, Bun and Deno, whose lines must be the
 * same. Arguments: the built client, its pods, a kubeconfig, the address of one who plays the kubelet's side, a namespace of
 * its own.
 */
const [clientUrl, podsUrl, kubeconfig, kubeletUrl, namespace] = process.argv.slice(2);
const { connect, corev1, isApiError, KubeClient, mergePatch } = await import(clientUrl);
const { podsOf } = await import(podsUrl);

const tell = (...parts) => console.log(JSON.stringify(parts));
const failure = (error) => [error.name, error.phase ?? error.reason ?? error.message];
const isOurs = ({ metadata }) => metadata.name !== 'kube-root-ca.crt';
const names = (objects) =>
  objects
    .filter(isOurs)
    .map(({ metadata }) => metadata.name)
    .sort();

const client = await connect({ paths: [kubeconfig] }, { compression: true });
await client.resource(corev1.namespaces).create({ metadata: { name: namespace } });
const maps = client.resource(corev1.configMaps, namespace);
const made = await maps.create({ metadata: { name: 'a' }, data: { text: 'word '.repeat(40_000) } });
tell('created', made.metadata.name, made.data.text.length);
tell('refused', await maps.create({ metadata: { name: 'a' } }).catch(failure));
tell('applied', (await maps.apply({ metadata: { name: 'b' }, data: { y: '2' } }, { fieldManager: 'me' })).data);
tell('patched', (await maps.patch('b', mergePatch({ data: { y: '3', z: '4' } }))).data);
const { items } = await maps.list();
tell('listed', names(items), items.find(({ metadata }) => metadata.name === 'a').data.text.length);

const informer = client.informer(corev1.configMaps, { namespace });
await informer.synced();
tell('synced', names(informer.list()));
const heard = [];
const stop = new AbortController();
const { resourceVersion } = made.metadata;
const watching = (async () => {
  for await (const { type, object } of client.watch(corev1.configMaps, {
    namespace,
    resourceVersion,
    signal: stop.signal,
  })) {
    if (type !== 'BOOKMARK' && isOurs(object)) heard.push([type, object.metadata.name]);
    if (heard.length === 4) stop.abort(new Error('enough'));
  }
})().catch(failure);
await maps.delete('b');
await maps.create({ metadata: { name: 'c' } });
tell('watched', await watching, heard);
await informer.reached((await maps.get('c')).metadata.resourceVersion);
tell('informed', names(informer.list()));
tell('gone', await maps.get('b').catch((error) => isApiError(error, 'NotFound')));

const inside = podsOf(new KubeClient({ server: new URL(kubeletUrl), namespace: 'default' }));
const lines = [];
for await (const line of inside.logs('web')) lines.push(line);
tell('logs', lines);
tell('run', await inside.run('web', ['echo', 'a', 'b c']), await inside.run('web', ['fail']));
tell('input', (await inside.run('web', ['cat'], { stdin: 'x'.repeat(300_000) })).stdout.length);

// A server that nobody vouches for is not talked to, on any runtime.
const { server, credentials } = client.transport.access;
const unknown = new KubeClient({ server, namespace, credentials }, { maxTries: 1 });
tell('not trusted', await unknown.resource(corev1.configMaps).list().catch(failure));
await informer.close();
await client.close();
tell('closed');
process.exit();
