/** plantroom network. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { dnsServers, linkSpeed, network } from '../network.ts'
import { networkConfirm, networkSet } from '../network-set.ts'
import { runCommand } from './world.ts'

const address = (local: string, more: object = {}) => ({
  ...{ family: local.includes(':') ? 'inet6' : 'inet', local, prefixlen: 24, scope: 'global' },
  ...more,
})
const LINKS = [
  {
    ifname: 'lo',
    operstate: 'UNKNOWN',
    flags: ['LOOPBACK', 'UP'],
    addr_info: [address('127.0.0.1', { scope: 'host' })],
  },
  {
    ...{ ifname: 'none0', operstate: 'UP', flags: ['UP'], address: '02:00:00:00:00:01' },
    addr_info: [
      address('192.0.2.7', { dynamic: true }),
      address('fe80::1', { scope: 'link' }),
      address('2001:db8::7', { prefixlen: 64 }),
    ],
  },
  { ifname: 'none1', operstate: 'DOWN', flags: [], address: '02:00:00:00:00:02', addr_info: [] },
]

/** A machine whose `ip` says these links and routes, and whose daemon has these settings. */
function machine(t: Test, links: unknown, settings = '', route = '') {
  const folder = t.testdir({ bin: {}, etc: { plantroom: { 'small.toml': settings } } })
  const say = (words: string, json: unknown) => `*"${words}"*) /bin/cat <<"END"\n${JSON.stringify(json)}\nEND\n;;`
  const text = `#!/bin/sh\ncase "$*" in\n${say('address', links)}\n${route}\nesac\n`
  writeFileSync(join(folder, 'bin/ip'), text)
  chmodSync(join(folder, 'bin/ip'), 0o755)
  return { env: { PATH: join(folder, 'bin'), PLANTROOM_BASE: folder } }
}

/** A daemon that answers. */
async function answering(t: Test): Promise<number> {
  const server = createServer((_, answer) => answer.end(JSON.stringify({ name: 'x', version: '1.0.0', uptimeMs: 1 })))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

const ROUTES = `*"-4 route"*) echo '[{"dst":"default","gateway":"192.0.2.1","dev":"none0","protocol":"dhcp"}]' ;;`

t.test('each interface is shown with its addresses, and the pages that answer there', async (t) => {
  const port = await answering(t)
  const given = machine(t, LINKS, `[http]\nlisten = "0.0.0.0:${port}"\n`, ROUTES)
  const { code, out } = await runCommand(network, [], given)
  t.equal(code, 0)
  t.match(out, new RegExp(`^name     ${hostname()}, [a-z0-9-]+\\.local$`, 'm'))
  t.match(out, /^gateway {2}192\.0\.2\.1 \(none0, dhcp\)$/m)
  const shown = [
    'none0: up, 02:00:00:00:00:01',
    '  192.0.2.7/24 dynamic',
    `    small      http://192.0.2.7:${port}/`,
    '  2001:db8::7/64 static',
    '',
    'none1: down, 02:00:00:00:00:02',
    '  no address',
  ]
  t.match(out, `\n${shown.join('\n')}\n`)
  t.notMatch(out, /lo:|fe80/)
})

t.test('as JSON it says the same', async (t) => {
  const port = await answering(t)
  const given = machine(t, LINKS, `[http]\nlisten = "0.0.0.0:${port}"\n[mdns]\nenabled = false\n`, ROUTES)
  const { out } = await runCommand(network, ['--json'], given)
  t.match(JSON.parse(out), {
    hostname: hostname(),
    mdnsName: null,
    gateways: [{ address: '192.0.2.1', interface: 'none0', from: 'dhcp' }],
    interfaces: [
      {
        ...{ name: 'none0', link: 'up', speedMbit: null, mac: '02:00:00:00:00:01' },
        addresses: [
          { address: '192.0.2.7', prefix: 24, kind: 'dynamic', pages: [{ daemon: 'small' }] },
          { address: '2001:db8::7', prefix: 64, kind: 'static', pages: [] },
        ],
      },
      { name: 'none1', link: 'down', addresses: [] },
    ],
  })
})

t.test('a page that only this machine reaches, or that does not answer, is not shown', async (t) => {
  const port = await answering(t)
  for (const listen of [`127.0.0.1:${port}`, '0.0.0.0:1']) {
    const { out } = await runCommand(network, [], machine(t, LINKS, `[http]\nlisten = "${listen}"\n`))
    t.notMatch(out, 'small')
    t.match(out, /^gateway {2}none$/m)
  }
})

t.test('without an address that others reach it ends with 3, without ip with a sentence', async (t) => {
  t.match(await runCommand(network, [], machine(t, LINKS.slice(2))), { code: 3, out: /none1: down/ })
  t.match(await runCommand(network, [], { env: { PATH: t.testdir() } }), { code: 'no_network_facts', err: /iproute2/ })
  t.match(await runCommand(network, ['eth0']), { code: 'bad_usage' })
})

t.test('where no board answers, setting the network says so, and what sets it there', async (t) => {
  const settings = '[ota]\nsocket = "/run/no-such-board.sock"\n'
  const folder = t.testdir({ bin: {}, etc: { plantroom: { 'board.toml': settings } } })
  writeFileSync(join(folder, 'bin/systemctl'), '#!/bin/sh\n[ "$3" = NetworkManager.service ]\n', { mode: 0o755 })
  const given = {
    daemonsFolder: join(import.meta.dirname, '../../../daemons'),
    env: { PATH: join(folder, 'bin'), PLANTROOM_BASE: folder },
  }
  const here = /no board answers here.*machine\.owned = true.*NetworkManager does here: nmtui/s
  t.match(await runCommand(networkSet, ['dhcp'], given), { code: 3, out: '', err: here })
  t.match(await runCommand(networkConfirm, ['--json'], given), { code: 3, err: here })
  writeFileSync(join(folder, 'bin/systemctl'), '#!/bin/sh\nexit 1\n')
  t.match(await runCommand(networkSet, ['dhcp'], given), { code: 3, err: /by what the machine was installed with/ })
})

t.test('DNS servers are those that systemd-resolved asks, where the system asks that', async (t) => {
  const folder = t.testdir({ stub: '# x\nnameserver 127.0.0.53\n', real: 'nameserver 10.0.0.1\n nameserver ::1\n' })
  const [none, stub, real] = ['none', 'stub', 'real'].map((name) => join(folder, name)) as [string, string, string]
  t.same(dnsServers([stub, real]), ['10.0.0.1', '::1'])
  t.same(dnsServers([real, stub]), ['10.0.0.1', '::1'])
  t.same(dnsServers([stub, none]), ['127.0.0.53'])
  t.same(dnsServers([none]), [])
})

t.test('a link without a cable has no speed', async (t) => {
  const folder = t.testdir({ eth0: { speed: '1000\n' }, eth1: { speed: '-1\n' } })
  mkdirSync(join(folder, 'eth2'))
  t.same(
    ['eth0', 'eth1', 'eth2'].map((name) => linkSpeed(name, folder)),
    [1000, null, null],
  )
})
