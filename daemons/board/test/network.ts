/** A network of machines made of namespaces: a bridge, and behind each port a machine with its own address. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { noCables } from '#kit/test/cables.ts'
import type { Owner } from '#kit/test/running-daemon.ts'

/** Reached only by failures. */
const ANSWER_MS = 25_000

/** Why it cannot be made here; undefined if it can. */
export function noNetworkBecause(): string | undefined {
  return noCables() || (existsSync('/usr/bin/curl') ? undefined : 'curl is not installed')
}

/** One machine. */
export interface Machine {
  /** Prefix of a command to run on it. */
  within: string[]
  /** Its address now. */
  address: string
  /** Adds an address. */
  add(address: string): void
  /** Changes its address. */
  move(address: string): void
  /** Unplugs it, or plugs it in again. */
  plug(isIn: boolean): void
}

/** The network of one test; always removed with the test. */
export interface Network {
  machine(address: string): Machine
  /** Prefix of a command to run on the bridge itself, at 10.77.0.254. */
  within: string[]
}

/** Makes a network 10.77.0.0/24. */
export function makeNetwork(t: Test): Network {
  removeLeftOver()
  const name = `pt-${process.pid}-${++made}`
  const spaces: string[] = []
  t.teardown(() => {
    // Removing a machine removes its cable.
    for (const space of spaces) ip('netns', 'del', space)
  })

  function space(of: string): string {
    ip('netns', 'add', of)
    spaces.push(of)
    ip('-n', of, 'link', 'set', 'lo', 'up')
    return of
  }

  const hub = space(name)
  ip('-n', hub, 'link', 'add', 'br0', 'type', 'bridge', 'forward_delay', '0', 'mcast_snooping', '0')
  ip('-n', hub, 'address', 'add', '10.77.0.254/24', 'dev', 'br0')
  ip('-n', hub, 'link', 'set', 'br0', 'up')

  return {
    within: ['ip', 'netns', 'exec', hub],
    machine(first) {
      const own = space(`${name}-${spaces.length}`)
      const plug = `plug${spaces.length}`
      ip('-n', own, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', plug, 'netns', hub)
      ip('-n', hub, 'link', 'set', plug, 'master', 'br0', 'up')
      ip('-n', own, 'address', 'add', `${first}/24`, 'dev', 'eth0')
      ip('-n', own, 'link', 'set', 'eth0', 'up')
      const machine: Machine = {
        within: ['ip', 'netns', 'exec', own],
        address: first,
        add: (address) => ip('-n', own, 'address', 'add', `${address}/24`, 'dev', 'eth0'),
        move(address) {
          ip('-n', own, 'address', 'add', `${address}/24`, 'dev', 'eth0')
          ip('-n', own, 'address', 'del', `${machine.address}/24`, 'dev', 'eth0')
          if (!addresses(own).includes(address)) ip('-n', own, 'address', 'add', `${address}/24`, 'dev', 'eth0')
          machine.address = address
        },
        plug: (isIn) => ip('-n', hub, 'link', 'set', plug, isIn ? 'up' : 'down'),
      }
      return machine
    },
  }
}

/** Asks a daemon on a machine. @returns the body of its answer. @throws Error if it does not answer */
export type Asks = (path: string, form?: Readonly<Record<string, string>>) => Promise<string>

/** A way to a port of a machine for a test that asks often: curl in its namespace would take longer than the answer. */
export async function asksOf(t: Owner, { within }: Machine, port: number): Promise<Asks> {
  const folder = mkdtempSync(join(tmpdir(), 'forward-'))
  const socketPath = join(folder, 'socket')
  const script = join(import.meta.dirname, 'peer/forward-child.ts')
  const [program = '', ...args] = [...within, process.execPath, script, socketPath, String(port)]
  const forward = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => {
    forward.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  await once(forward.stdout, 'data')
  return async (path, form) => {
    const body = form && new URLSearchParams(form).toString()
    const headers = body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }
    const method = body === undefined ? 'GET' : 'POST'
    const asked = request({ socketPath, path, method, agent: false, timeout: ANSWER_MS, headers }).end(body)
    asked.on('timeout', () => asked.destroy(new Error(`${path}: no answer within ${ANSWER_MS} ms`)))
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    return await text(answer)
  }
}

let made = 0

/** Removes the remains of killed tests: machines are named after their test's process. */
function removeLeftOver(): void {
  const list = execFileSync('ip', ['netns', 'list'], { encoding: 'utf8', timeout: 5000 })
  for (const [, space = '', pid = ''] of list.matchAll(/^(pt-(\d+)-\S+)/gm)) {
    if (existsSync(`/proc/${pid}`)) continue
    const pids = execFileSync('ip', ['netns', 'pids', space], { encoding: 'utf8', timeout: 5000 }).match(/\d+/g) ?? []
    for (const left of pids) process.kill(Number(left), 'SIGKILL')
    ip('netns', 'del', space)
  }
}

function addresses(space: string): string {
  return execFileSync('ip', ['-n', space, '-4', 'address', 'show', 'dev', 'eth0'], { encoding: 'utf8', timeout: 5000 })
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: 5000 })
}
