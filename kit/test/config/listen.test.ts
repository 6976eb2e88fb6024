/** Listen addresses: accepted forms, and the URL they are reached by. */
import { t } from 'tap'
import { parseListen, urlOfListen } from '#kit/config/tables.ts'

t.test('reads IPv4, IPv6 in brackets and names', async (t) => {
  t.same(parseListen('127.0.0.1:3132'), { host: '127.0.0.1', port: 3132 })
  t.same(parseListen('[::]:0'), { host: '::', port: 0 })
  t.same(parseListen('[fe80::1%eth0]:80'), { host: 'fe80::1%eth0', port: 80 })
  t.same(parseListen('localhost:65535'), { host: 'localhost', port: 65_535 })
})

t.test('refuses anything that is not HOST:PORT', async (t) => {
  for (const text of [
    '',
    '3132',
    ':3132',
    'host',
    'host:',
    'host:65536',
    '::1:80',
    'http://host:80',
    'host:80 ',
    'a b:1',
  ])
    t.throws(() => parseListen(text), { code: 'bad_listen' }, JSON.stringify(text))
})

t.test('gives the URL that reaches it from this machine', async (t) => {
  t.equal(urlOfListen({ host: '0.0.0.0', port: 3132 }), 'http://127.0.0.1:3132')
  t.equal(urlOfListen({ host: '::', port: 80 }), 'http://[::1]:80')
  t.equal(urlOfListen({ host: '192.0.2.7', port: 80 }, 'https'), 'https://192.0.2.7:80')
})
