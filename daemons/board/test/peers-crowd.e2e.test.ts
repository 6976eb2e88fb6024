/** A board in a crowd: a hundred others, and an attacker that announces a thousand more a second. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { residentMb } from '#kit/test/process-memory.ts'
import { type Machine, makeNetwork, noNetworkBecause } from './network.ts'
import { boardOn, took, within } from './network-board.ts'

const skip = noNetworkBecause() ?? false
/** How long forged boards are announced before the memory is looked at: six thousand of them. */
const FLOODED_S = 6
const addresses = (first: number, count: number) => Array.from({ length: count }, (_, at) => `10.77.0.${first + at}`)

/** Starts test/peer/crowd-child.ts on a machine. */
function crowdOn(t: Test, machine: Machine, ...args: string[]): void {
  const [program = '', ...before] = machine.within
  const script = join(import.meta.dirname, 'peer/crowd-child.ts')
  const crowd = spawn(program, [...before, process.execPath, script, ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  t.teardown(() => crowd.kill('SIGKILL'))
}

t.test('B.peers a hundred boards are found, and a flood of forged ones changes nothing', { skip }, async (t) => {
  const network = makeNetwork(t)
  const board = await boardOn(t, network.machine('10.77.0.1'))
  const many = network.machine('10.77.0.100')
  for (const address of addresses(101, 99)) many.add(address)
  crowdOn(t, many, 'boards', ...addresses(100, 100))
  const found = async () =>
    (await board.others()).filter(({ name, state }) => name.startsWith('crowd-') && state === 'alive')
  within(t, 20_000, await took(30_000, async () => (await found()).length === 100), 'a hundred are found')

  const quietMb = residentMb(board.pid)
  const forger = network.machine('10.77.0.50')
  for (const address of addresses(51, 30)) forger.add(address)
  crowdOn(t, forger, 'forge', ...addresses(50, 31))
  await sleep(FLOODED_S * 1000)
  const floodedMb = residentMb(board.pid)
  t.comment(`${quietMb.toFixed(0)} MB before the flood, ${floodedMb.toFixed(0)} MB in it`)
  // V8's young generation grows with the traffic, up to a limit; retained memory is counted in peers-hostile.test.ts.
  t.ok(floodedMb - quietMb < 100, 'the flood takes little memory')
  t.equal((await found()).length, 100, 'all are still there')
  t.notOk(
    (await board.others()).some(({ name }) => name === 'Forged'),
    'and nobody else',
  )
  const guest = await boardOn(t, network.machine('10.77.0.2'), { name: 'Guest' })
  const seen = async () => (await board.others()).some(({ name }) => name === 'Guest')
  within(t, 60_000, await took(60_000, seen), 'one that comes in the flood is found')
  await guest.stop()
})
