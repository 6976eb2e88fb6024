/** A board with its own machine: two network namespaces with a cable between, and a helper that sets addresses for real. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { noNetworkBecause } from './network.ts'
import { type RunningBoard, startBoard } from './running-board.ts'

const COMMAND = join(import.meta.dirname, '../../../build/plantroom')

/** Long enough for a busy machine to make a request in time, and to see that nobody can. */
const CONFIRM_MS = 15_000

/** The board's machine and a visitor's, with a cable between. The board's has the address that DHCP gave it: 10.77.0.2. */
function makeMachines(t: Test): { board: string; visitor: string } {
  const suffix = `${process.pid}-${Math.floor(Math.random() * 1e6)}`
  const [board, visitor] = [`pb-${suffix}`, `pv-${suffix}`]
  const ip = (...words: string[]) => execFileSync('ip', words, { stdio: 'pipe' })
  t.teardown(() => {
    for (const name of [board, visitor]) execFileSync('ip', ['netns', 'delete', name], { stdio: 'pipe' })
  })
  for (const name of [board, visitor]) ip('netns', 'add', name)
  ip('-n', board, 'link', 'add', 'lan0', 'type', 'veth', 'peer', 'name', 'lan1', 'netns', visitor)
  for (const [name, link, address] of [
    [board, 'lan0', '10.77.0.2'],
    [visitor, 'lan1', '10.77.0.1'],
  ] as const) {
    ip('-n', name, 'link', 'set', 'lo', 'up')
    ip('-n', name, 'link', 'set', link, 'up')
    ip('-n', name, 'address', 'add', `${address}/24`, 'dev', link)
  }
  ip('-n', board, 'route', 'add', 'default', 'via', '10.77.0.1')
  // The visitor reaches any address that the board gives itself.
  ip('-n', visitor, 'address', 'add', '10.88.0.1/24', 'dev', 'lan1')
  return { board, visitor }
}

/** Does with ip what the helper of the product does with networkd; its commands have their own tests. */
async function serveHelper(t: Test, machine: string): Promise<{ path: string; asked: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'helper-'))
  const path = join(folder, 'socket')
  const asked: string[] = []
  const server = createServer((socket) => {
    socket.once('data', (line) => {
      const words = String(line).trim().split(' ')
      asked.push(words.join(' '))
      const [verb, kind, link = '', address = '10.77.0.2/24', gateway = '10.77.0.1'] = words
      if (verb === 'network') {
        execFileSync('ip', ['-n', machine, 'address', 'flush', 'dev', link], { stdio: 'pipe' })
        const given = kind === 'static' ? { address, gateway } : { address: '10.77.0.2/24', gateway: '10.77.0.1' }
        execFileSync('ip', ['-n', machine, 'address', 'add', given.address, 'dev', link], { stdio: 'pipe' })
        const way = ['-n', machine, 'route', 'add', 'default', 'via', given.gateway]
        if (given.gateway !== '-') execFileSync('ip', way, { stdio: 'pipe' })
      }
      // If a machine does not reboot the daemon restarts itself: here that must not take the test with it.
      socket.end(verb === 'reboot' ? 'error reboot_failed not in this test\n' : 'ok\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  t.teardown(async () => {
    await new Promise((resolve) => server.close(resolve))
    rmSync(folder, { recursive: true })
  })
  return { path, asked }
}

/** A request from within a machine; the body as JSON. Throws if nobody answers. */
function ask(machine: string, url: string, form: string[] = []) {
  const data = form.flatMap((field) => ['--data-urlencode', field])
  const words = ['netns', 'exec', machine, 'curl', '--silent', '--max-time', '3', ...data, url]
  return JSON.parse(execFileSync('ip', words, { stdio: 'pipe', encoding: 'utf8' }))
}

/** `plantroom network` on the board's machine. */
function plantroom(base: string, ...words: string[]) {
  const env = { ...process.env, PLANTROOM_BASE: base }
  return spawnSync(COMMAND, ['network', ...words], { encoding: 'utf8', env, timeout: 30_000 })
}

async function until<T>(what: string, look: () => T | undefined): Promise<T> {
  const untilMs = performance.now() + 40_000
  while (performance.now() < untilMs) {
    const found = look()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${what} did not come within 40 s`)
}

async function setup(t: Test) {
  const machines = makeMachines(t)
  const helper = await serveHelper(t, machines.board)
  const base = mkdtempSync(join(tmpdir(), 'base-'))
  t.teardown(() => rmSync(base, { recursive: true }))
  mkdirSync(join(base, 'etc/plantroom'), { recursive: true })
  writeFileSync(join(base, 'etc/plantroom/board.toml'), `[ota]\nsocket = "${base}/ota.sock"\n`)
  const board = await startBoard(t, {
    listen: '0.0.0.0:8080',
    within: ['ip', 'netns', 'exec', machines.board],
    sets: [
      'mdns.enabled=false',
      'machine.owned=true',
      `machine.helper=${helper.path}`,
      `machine.confirm_ms=${CONFIRM_MS}`,
      'machine.restart_after_ms=50',
      'machine.take_back_ms=500',
      `ota.socket=${base}/ota.sock`,
    ],
  })
  return { ...machines, helper, base, board }
}

const form = (ip: string) => ['sap=1', 'static_ip=1', `ip=${ip}`, 'mask=255.255.255.0', 'gw=10.88.0.1']
const isSet = (board: RunningBoard) =>
  until('the new address', () => /fixed address set/.exec(board.output()) ?? undefined)

t.test('a fixed address is confirmed once somebody was answered there', { skip: noNetworkBecause() }, async (t) => {
  const { board, visitor, helper } = await setup(t)
  t.match(ask(visitor, 'http://10.77.0.2:8080/api/status').network, { state: 'dhcp' })
  t.match(ask(visitor, 'http://10.77.0.2:8080/api/config', form('10.88.0.7')), { saved: true, restarts: true })
  await isSet(board)
  t.match(helper.asked, ['reboot', 'network static lan0 10.88.0.7/24 10.88.0.1'])
  const first = ask(visitor, 'http://10.88.0.7:8080/api/status').network
  t.match(first, { state: 'unconfirmed', confirm_until: Number, text: /10\.88\.0\.7/ })
  const { network } = await until('the confirmation', () => {
    const status = ask(visitor, 'http://10.88.0.7:8080/api/status')
    return status.network.state === 'static' ? status : undefined
  })
  t.match(network, { state: 'static', confirm_until: null })
})

t.test(
  'an address that nobody reached is taken back, and the board says so until it is set again',
  { skip: noNetworkBecause() },
  async (t) => {
    const { board, visitor, helper } = await setup(t)
    // A typing mistake: a network with nobody in it.
    const typo = ['sap=1', 'static_ip=1', 'ip=10.99.0.7', 'mask=255.255.255.0', 'gw=10.99.0.1']
    ask(visitor, 'http://10.77.0.2:8080/api/config', typo)
    await isSet(board)
    t.throws(() => ask(visitor, 'http://10.77.0.2:8080/api/status'), 'the board is out of reach')
    await until('the fall-back', () => /nobody reached the fixed address/.exec(board.output()) ?? undefined)
    t.equal(helper.asked.at(-1), 'network dhcp lan0')
    t.match(ask(visitor, 'http://10.77.0.2:8080/api/status').network, { state: 'fallen_back', text: /10\.99\.0\.7/ })
    ask(visitor, 'http://10.77.0.2:8080/api/reboot', [''])
    await until('the next start', () => (board.output().match(/ listening url=/g)?.length === 3 ? true : undefined))
    t.equal(
      ask(visitor, 'http://10.77.0.2:8080/api/status').network.state,
      'fallen_back',
      'a restart does not try it again',
    )
    const { static_ip, ip } = ask(visitor, 'http://10.77.0.2:8080/api/config')
    t.strictSame([static_ip, ip], [true, '10.99.0.7'], 'the input is there to be corrected')
  },
)

t.test(
  'an installer on the board gives it an address, which it keeps once he confirms it, and else goes back from',
  { skip: noNetworkBecause() },
  async (t) => {
    const { base, board, helper, visitor } = await setup(t)
    for (const [words, why] of [
      [['10.88.0.255/24', '--gateway', '10.88.0.1'], /the address: 10\.88\.0\.255 means every machine of the network/],
      [['10.88.0.7/24', '--gateway', '10.99.0.1'], /--gateway: 10\.99\.0\.1 is not in the board's network/],
      [['10.88.0.7/24'], /needs --gateway ADDRESS/],
      [['10.88.0.7', '--gateway', 'none'], /"10\.88\.0\.7" is neither dhcp nor/],
      [['fd00::7/24', '--gateway', 'none'], /neither dhcp nor an IPv4 address/],
      [['dhcp', '--gateway', '10.88.0.1'], /DHCP names gateway and servers itself/],
      [['10.88.0.7/24', '--gateway', '10.88.0.1', '--dns', '10.88.0.1,127.0.0.53'], /--dns: /],
      [['--hostname', 'lobby_1'], /--hostname: /],
      [[], /expected: plantroom network set/],
    ] as const)
      t.match(plantroom(base, 'set', ...words), { status: 2, stderr: why }, words.join(' '))
    t.match(plantroom(base, 'confirm'), { status: 1, stderr: /No new address waits to be confirmed/ })
    t.same(helper.asked, [], 'and the board runs on')

    const given = plantroom(base, 'set', '10.88.0.7/24', '--gateway', '10.88.0.1')
    t.match(given, { status: 0, stdout: /http:\/\/10\.88\.0\.7\/ from another machine[\s\S]*it goes back to DHCP/ })
    await isSet(board)
    t.match(plantroom(base, 'confirm'), { status: 0, stdout: 'The board keeps the address 10.88.0.7/24' })
    t.match(ask(visitor, 'http://10.88.0.7:8080/api/status').network, { state: 'static' })
    const asked = helper.asked.length
    const again = plantroom(base, 'set', '10.88.0.7/24', '--gateway', '10.88.0.1')
    t.match(again, { status: 0, stdout: 'It is set so already. Nothing was changed, and nothing restarts.\n' })
    t.equal(helper.asked.length, asked, 'and the board runs on')

    // A typing mistake, from a fixed address in a network that has no DHCP.
    const typo = plantroom(base, 'set', '10.99.0.7/24', '--gateway', 'none', '--dns', '10.99.0.53,10.99.0.54', '--json')
    t.match(JSON.parse(typo.stdout), { address: '10.99.0.7', goes_back_to: '10.88.0.7/24', confirm_s: 15 })
    await until('the way back', () => /it is taken back/.exec(board.output()) ?? undefined)
    t.same(helper.asked.slice(-2), [
      'network static lan0 10.99.0.7/24 - 10.99.0.53,10.99.0.54',
      'network static lan0 10.88.0.7/24 10.88.0.1',
    ])
    t.match(ask(visitor, 'http://10.88.0.7:8080/api/status'), {
      network: { state: 'fallen_back' },
      verdict: { state: 'warn', text: /at 10\.99\.0\.7\/24 in time, so it is back at 10\.88\.0\.7\/24/ },
    })
    const journal: { who: string; what: string }[] = ask(visitor, 'http://10.88.0.7:8080/api/journal')
    t.equal(journal.find(({ what }) => what === 'settings saved')?.who, 'plantroom network')

    t.match(plantroom(base, 'set', 'dhcp'), {
      status: 0,
      stdout: /If none comes within 15 s, it goes back to 10\.88\.0\.7\/24/,
    })
    await until('an address from DHCP', () => /DHCP gave an address/.exec(board.output()) ?? undefined)
    t.match(ask(visitor, 'http://10.77.0.2:8080/api/status').network, { state: 'dhcp', confirm_until: null })
  },
)
