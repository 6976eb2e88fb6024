/** Tests of pure/proxy-signs.ts. */
import t from 'tap'
import { hasProxySign } from '../../pure/proxy-signs.ts'

t.test('every header that a proxy adds reveals it, in any case', (t) => {
  const names = [
    'Forwarded',
    'X-Forwarded-For',
    'x-forwarded-proto',
    'X_FORWARDED_HOST',
    'Via',
    'X-Real-IP',
    'x-client-ip',
  ]
  const services = ['CF-Connecting-IP', 'cf-ray', 'True-Client-IP', 'Fly-Client-IP', 'Fastly-Client-IP', 'CDN-Loop']
  const others = [
    'X-Envoy-External-Address',
    'X-Original-URL',
    'X-Original-Forwarded-For',
    'X-Cluster-Client-IP',
    'Proxy-Connection',
  ]
  for (const name of [...names, ...services, ...others]) t.equal(hasProxySign({ host: 'box', [name]: '1' }), true, name)
  t.end()
})

t.test('headers that browsers and programs send on their own do not', (t) => {
  const browser = [
    'host',
    'connection',
    'user-agent',
    'accept',
    'accept-encoding',
    'accept-language',
    'referer',
    'origin',
  ]
  const more = ['content-type', 'content-length', 'cookie', 'authorization', 'sec-fetch-site', 'sec-ch-ua', 'upgrade']
  const rest = [
    'sec-websocket-key',
    'priority',
    'dnt',
    'te',
    'expect',
    'x-requested-with',
    'x-request-id',
    'traceparent',
  ]
  t.equal(hasProxySign(Object.fromEntries([...browser, ...more, ...rest].map((name) => [name, '1']))), false)
  t.equal(hasProxySign({ via: undefined }), false)
  t.end()
})
