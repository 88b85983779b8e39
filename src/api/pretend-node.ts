/**
 * Nodes that are only pretended carry a label: whoever makes them sets it, and whoever is asked for what runs on a node
 * (logs, exec, port-forward) can say that nothing does.
 */
export const PRETEND_LABEL = 'longwatch.example.com/pretend';

export function isPretendNode({ metadata }: { readonly metadata?: { readonly labels?: Labels } }): boolean {
  return metadata?.labels?.[PRETEND_LABEL] !== undefined;
}

type Labels = Readonly<Record<string, string>> | undefined;
