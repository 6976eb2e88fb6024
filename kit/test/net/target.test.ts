/** Tests of net/target.ts. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { holds } from '#kit/test/holds.ts'
import { lookupSafely, parseTarget } from '../../net/target.ts'

t.test('accepts targets inside the building and outside', async (t) => {
  const urls = [
    'http://127.0.0.1:8080/hook',
    'https://10.0.0.5/a?b=c',
    'http://[fd00::5]/',
    'http://nas.local/x',
    'http://a',
  ]
  for (const url of urls) t.doesNotThrow(() => parseTarget(url), url)
})

t.test('refuses anything that is not a URL to post to, each with its own sentence', async (t) => {
  const rows: [string, RegExp][] = [
    ['', /cannot be read/],
    ['hook', /cannot be read/],
    ['http://10.0.\t0.5/', /control character/],
    [' http://10.0.0.5/', /space/],
    ['http://10.0.0.5/#', /fragment/],
    [`http://10.0.0.5/${'x'.repeat(2048)}`, /characters, at most 2048/],
    ['ftp://10.0.0.5/', /begins with ftp:/],
    ['file:///etc/passwd', /begins with file:/],
    ['javascript:alert(1)', /begins with javascript:/],
    ['http://user:pass@10.0.0.5/', /as Authorization/],
    ['http://user@10.0.0.5/', /as Authorization/],
    ['http://10.0.0.5/#part', /fragment/],
    ['http://10.0.0.5:0/', /port 0/],
  ]
  for (const [url, message] of rows) t.throws(() => parseTarget(url), { code: 'bad_target', message }, url)
})

t.test('refuses addresses that are not allowed for targets, however they are written', async (t) => {
  const hosts = ['169.254.1.1', '169.254.169.254', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '169.254.43518']
  hosts.push('[::ffff:169.254.169.254]', '[::ffff:a9fe:a9fe]', '[fd00:ec2::254]', '[fe80::1]', '[64:ff9b::a9fe:a9fe]')
  hosts.push('224.0.0.1', '[ff02::1]', '0.0.0.0', '0', '[::]', '255.255.255.255', '\uff11\uff16\uff19.254.169.254')
  for (const host of hosts) t.throws(() => parseTarget(`http://${host}/`), { code: 'bad_target' }, host)
})

t.test('throws nothing but its Fault', async (t) => {
  const urls = fc.oneof(fc.string(), fc.webUrl(), fc.webUrl({ validSchemes: ['http', 'ftp'], withFragments: true }))
  holds(
    t,
    fc.property(urls, (text) => {
      try {
        parseTarget(text)
      } catch (fault) {
        if (!(fault instanceof Fault) || fault.code !== 'bad_target') throw fault
      }
    }),
  )
})

t.test('lets no link-local address through in decimal, octal or hex', async (t) => {
  const linkLocal = fc.nat(65_535).map((low) => 0xa9fe0000 + low)
  holds(
    t,
    fc.property(linkLocal, fc.constantFrom(10, 8, 16), (address, base) => {
      const written = { 10: String(address), 8: `0${address.toString(8)}`, 16: `0x${address.toString(16)}` }[base]
      t.throws(() => parseTarget(`http://${written}/`))
    }),
    { numRuns: 30 },
  )
})

t.test('resolves a name to the addresses that are allowed', async (t) => {
  const server = createServer((_, reply) => reply.end('here')).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const status = await new Promise((resolve, reject) => {
    request({ host: 'localhost', port, lookup: lookupSafely, family: 4, agent: false }, (reply) =>
      resolve(reply.resume().statusCode),
    )
      .on('error', reject)
      .end()
  })
  t.equal(status, 200)
})

t.test('fails if a name resolves to a forbidden address', async (t) => {
  // The resolver reads numbers in every old notation, so that it serves as a name server for this test.
  for (const host of ['169.254.169.254', '0xa9fea9fe', '224.0.0.1', '::ffff:169.254.169.254']) {
    const fault = await new Promise((resolve) => lookupSafely(host, { all: true }, (error) => resolve(error)))
    t.match(fault, { code: 'bad_target' }, host)
  }
})

t.test('passes on that a name does not exist', async (t) => {
  const missing = await new Promise((resolve) => lookupSafely('no-such-name.invalid', {}, (error) => resolve(error)))
  t.ok(missing instanceof Error && !(missing instanceof Fault))
})

t.test('gives one address or all, as asked', async (t) => {
  const all = await new Promise((resolve) => lookupSafely('127.0.0.1', { all: true }, (_, found) => resolve(found)))
  t.same(all, [{ address: '127.0.0.1', family: 4 }])
  const one = await new Promise((resolve) =>
    lookupSafely('127.0.0.1', {}, (_, found, family) => resolve([found, family])),
  )
  t.same(one, ['127.0.0.1', 4])
})
