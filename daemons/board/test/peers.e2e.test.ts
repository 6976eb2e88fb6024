/** Three real boards on a network of their own. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { startDaemon } from '#kit/test/running-daemon.ts'
import { type Machine, makeNetwork, type Network, noNetworkBecause } from './network.ts'

const skip = noNetworkBecause() ?? false
const run = promisify(execFile)

interface Peer {
  hostname: string
  name: string
  IP: string
  port: number
  role: string
  self: boolean
  state: string
}

/** A board, and what it says through its own machine: the test itself is not on that network. */
async function boardOn(
  t: Test,
  machine: Machine,
  options: { stateFolder?: string; name?: string; port?: number } = {},
) {
  const stateFolder = options.stateFolder ?? mkdtempSync(join(tmpdir(), 'peer-'))
  if (!options.stateFolder) t.teardown(() => rmSync(stateFolder, { recursive: true, force: true }))
  const port = options.port ?? 80
  const listen = `0.0.0.0:${port}`
  const daemon = await startDaemon(t, 'board', { within: machine.within, listen, stateFolder })
  const own = `http://127.0.0.1:${port}`

  async function curl(path: string, ...args: string[]): Promise<string> {
    const [program = '', ...before] = machine.within
    const line = [...before, 'curl', '-sS', '--max-time', '5', ...args, own + path]
    return (await run(program, line, { timeout: 10_000 })).stdout
  }
  const peers = async () => JSON.parse(await curl('/api/peers')) as Peer[]
  const others = async () => (await peers()).filter(({ self }) => !self)

  /** Changes settings, as the form does, and waits until it is back. */
  async function change(settings: Record<string, string>): Promise<void> {
    const now = JSON.parse(await curl('/api/config')) as Record<string, unknown>
    const form = new URLSearchParams()
    for (const [name, value] of Object.entries({ ...now, ...settings })) form.set(name, String(value))
    await curl('/api/config', '--data', form.toString())
  }
  if (options.name) await change({ name: options.name })
  return { ...daemon, curl, peers, others, change, stateFolder }
}

/** Asks until it holds. @returns how long that took, in ms; Infinity where it did not */
async function took(ms: number, holds: () => Promise<boolean>): Promise<number> {
  const startMs = performance.now()
  while (performance.now() - startMs < ms) {
    // A board that starts again does not answer for a moment.
    if (await holds().catch(() => false)) return performance.now() - startMs
    await sleep(100)
  }
  return Number.POSITIVE_INFINITY
}

function within(t: Test, ms: number, tookMs: number, what: string): void {
  t.comment(`${what} after ${(tookMs / 1000).toFixed(1)} s`)
  t.ok(tookMs <= ms, `${what} within ${ms / 1000} s`)
}

const sameNames = (peers: Peer[], names: string[]) =>
  JSON.stringify(peers.map(({ name }) => name).sort()) === JSON.stringify([...names].sort())

async function three(t: Test, network: Network) {
  const machines = ['10.77.0.1', '10.77.0.2', '10.77.0.3'].map((address) => network.machine(address))
  const boards = []
  for (const machine of machines) boards.push(await boardOn(t, machine))
  const [one, two, last] = boards
  const [, , lastMachine] = machines
  if (!one || !two || !last || !lastMachine) throw new Error('there are not three boards')
  return { one, two, last, lastMachine }
}

t.test('B.peers three boards', { skip, timeout: 170_000 }, async (t) => {
  const network = makeNetwork(t)
  const { one, two, last, lastMachine } = await three(t, network)
  const seen = async () => (await one.others()).length === 2 && (await two.others()).length === 2
  within(t, 5000, await took(10_000, seen), 'all are seen')

  await t.test('are listed with this board first, each with its address', async (t) => {
    const [self, ...others] = await one.peers()
    t.match(self, { self: true, state: 'here', IP: '10.77.0.1', role: 'serial', port: 80 })
    t.same(others.map(({ IP }) => IP).sort(), ['10.77.0.2', '10.77.0.3'])
    for (const peer of others) t.match(peer, { state: 'alive', role: 'serial', port: 80 })
  })

  await t.test('one that is renamed is renamed on the others', async (t) => {
    await last.change({ name: 'Boiler room' })
    const renamed = async () => (await one.others()).some(({ name }) => name === 'Boiler room')
    within(t, 15_000, await took(20_000, renamed), 'renamed')
  })

  await t.test('two of one name are two', async (t) => {
    await two.change({ name: 'Boiler room' })
    const both = async () => sameNames(await one.others(), ['Boiler room', 'Boiler room'])
    within(t, 15_000, await took(20_000, both), 'both are listed')
  })

  await t.test('one whose address changes is found there', async (t) => {
    lastMachine.move('10.77.0.33')
    const moved = async () => {
      const [...peers] = await one.others()
      return peers.length === 2 && peers.some(({ IP, state }) => IP === '10.77.0.33' && state === 'alive')
    }
    within(t, 15_000, await took(20_000, moved), 'found at its new address')
  })

  await t.test('one that is killed is gone', async (t) => {
    await last.stop('SIGKILL')
    const gone = async () => sameNames(await one.others(), ['Boiler room'])
    within(t, 15_000, await took(20_000, gone), 'gone')
  })

  await t.test('one whose plug is pulled is gone, and comes back', async (t) => {
    const machine = network.machine('10.77.0.4')
    const guest = await boardOn(t, machine, { name: 'Guest' })
    const here = async () => (await one.others()).some(({ name }) => name === 'Guest')
    within(t, 8000, await took(15_000, here), 'there')
    machine.plug(false)
    within(t, 15_000, await took(20_000, async () => !(await here())), 'gone')
    machine.plug(true)
    within(t, 15_000, await took(25_000, here), 'back')
    await guest.stop()
    within(t, 10_000, await took(15_000, async () => !(await here())), 'gone when it stops')
  })
})
