/**
 * Headers that proxies, balancers and tunnels add to what they forward: a request with one may come from somebody else.
 */

/** Names as Node gives them, with `-` for `_`, which some servers treat as the same. */
const EXACT: ReadonlySet<string> = new Set([
  ...['forwarded', 'via', 'x-via', 'cdn-loop', 'client-ip', 'true-client-ip', 'x-client-ip', 'x-cluster-client-ip'],
  ...['x-real-ip', 'x-real-port', 'x-remote-ip', 'x-remote-addr', 'x-coming-from', 'x-source-ip', 'x-host', 'x-scheme'],
  ...['x-url-scheme', 'front-end-https', 'x-varnish', 'surrogate-capability', 'x-cloud-trace-context', 'x-rewrite-url'],
  ...[
    'wl-proxy-client-ip',
    'incap-client-ip',
    'x-sp-forwarded-ip',
    'x-ssl-client-cert',
    'x-tunnel',
    'x-accel-internal',
  ],
])
const BEGINNINGS = [
  ...['x-forward', 'x-original-', 'x-envoy-', 'x-proxy', 'proxy-', 'cf-', 'fly-', 'fastly-', 'akamai-', 'x-akamai-'],
  ...['x-azure-', 'x-arr-', 'x-appengine-', 'x-appgw-', 'x-amz-', 'x-amzn-', 'x-vercel-', 'x-nf-', 'x-sucuri-'],
  ...['x-haproxy-', 'x-traefik-', 'x-nginx-', 'ngrok-', 'x-ngrok-', 'tailscale-', 'x-replit-', 'x-goog-', 'x-tencent-'],
  ...['ali-', 'x-alicdn-', 'x-cdn'],
]

/** Cache of checked names: nearly all requests send the same few. */
const JUDGED_NAMES = 64
const JUDGED_CHARS = 64
const judged = new Map<string, boolean>()

/** @param headers by name, in any case */
export function hasProxySign(headers: Readonly<Record<string, unknown>>): boolean {
  for (const name in headers) if (headers[name] !== undefined && isSign(name)) return true
  return false
}

function isSign(name: string): boolean {
  const known = judged.get(name)
  if (known !== undefined) return known
  const plain = name.toLowerCase().replaceAll('_', '-')
  const is = EXACT.has(plain) || BEGINNINGS.some((start) => plain.startsWith(start))
  if (judged.size >= JUDGED_NAMES) judged.clear()
  if (name.length <= JUDGED_CHARS) judged.set(name, is)
  return is
}
