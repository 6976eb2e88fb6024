/**
 * A guest: Debian with its own kernel, in QEMU. Commands run in it, and its machine can be tampered with: devices
 * plugged and pulled, cables pulled, power cut. For tests; every wait in it is bounded.
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { acceleratorArguments } from './accelerator.ts'
import { type JsonLine, openJsonLine } from './json-line.ts'

/** Milliseconds from power-on to a booted system: emulated, on a busy machine. */
const BOOT_MS = 300_000
/** Default timeout of a command in the guest, ms. */
const COMMAND_MS = 60_000
/** Milliseconds between polls whether a command has ended. */
const LOOK_MS = 50

/** Result of a command in the guest; `out` is both streams as they came. */
export interface Outcome {
  code: number
  out: string
}

/** Options of a guest. */
export interface GuestOptions {
  /** For messages and files: letters only. */
  name: string
  /** Further devices of the machine, besides disk and cable, as QEMU arguments. */
  devices?: string[]
  /** A folder of this machine that the guest sees at /host, read only. */
  lends?: string
  /** The cable: one guest listens at the path, the other connects. Without it there is no cable. */
  cable?: { path: string; listens: boolean; address: string }
  memoryMb?: number
  /** Default 1. */
  processors?: number
}

export interface Guest {
  /** Runs a bash script as root. Rejects if it does not end in time. */
  run(script: string, timeoutMs?: number): Promise<Outcome>
  /** Resolves with its output, without the last line end. Rejects if it ended with anything but 0. */
  must(script: string, timeoutMs?: number): Promise<string>
  /** Sends a command to the machine (QMP). */
  machine(command: string, args?: object): Promise<unknown>
  /** Pulls the cable, or plugs it in. */
  plugCable(isIn: boolean): Promise<void>
  /** Cuts the power and restores it; resolves once the system has booted again. */
  cutPower(): Promise<void>
  /** Waits for the boot after a restart from inside; `before` is the earlier result of bootId(). */
  startedAfter(before: string): Promise<void>
  /** Different after each boot. */
  bootId(): Promise<string>
  /** The last lines of the console, for the report of a failure. */
  consoleTail(): string
  stop(): Promise<void>
}

/** The folder with the image; built if its inputs have changed, which takes half a minute and needs root. */
export function guestImage(root: string): string {
  const folder = execFileSync(join(root, 'scripts/vm/make-image.sh'), { encoding: 'utf8', timeout: 600_000 })
  return join(root, folder.trim())
}

/** Starts a guest on its own disk, which is removed with it. Resolves once its system has booted. */
export async function startGuest(image: string, options: GuestOptions): Promise<Guest> {
  const bed = mkdtempSync(join(tmpdir(), `plantroom-${options.name}-`))
  const disk = join(bed, 'disk.qcow2')
  execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', join(image, 'root.img'), '-F', 'raw', disk])
  // A guest never outlives the test.
  const command = ['--pdeathsig', 'KILL', 'qemu-system-x86_64', ...qemuArguments({ image, bed, disk, options })]
  const qemu = spawn('setpriv', command, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  qemu.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4000)
  })
  let hasEnded = false
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      hasEnded = true
      resolve()
    }
    qemu.once('close', end).once('error', end)
  })
  const consoleTail = () => `${said}${readTail(join(bed, 'console'))}`
  async function stop(): Promise<void> {
    qemu.kill('SIGKILL')
    await ended
    rmSync(bed, { recursive: true, force: true })
  }
  try {
    const qmp = await openJsonLine(join(bed, 'qmp'), 10_000)
    await qmp.ask('qmp_capabilities')
    const agent = await openJsonLine(join(bed, 'agent'), 10_000)
    const guest = makeGuest({ qmp, agent, options, consoleTail, stop, hasEnded: () => hasEnded })
    await guest.startedAfter('')
    return guest
  } catch (error) {
    const fault = new Error(`the guest ${options.name} did not start:\n${consoleTail()}`, { cause: error })
    await stop()
    throw fault
  }
}

interface Made {
  qmp: JsonLine
  agent: JsonLine
  options: GuestOptions
  consoleTail(): string
  stop(): Promise<void>
  hasEnded(): boolean
}

function makeGuest({ qmp, agent, options, consoleTail, stop, hasEnded }: Made): Guest {
  let syncNumber = 0

  async function run(script: string, timeoutMs = COMMAND_MS): Promise<Outcome> {
    const end = performance.now() + timeoutMs
    const args = { path: '/bin/bash', arg: ['-c', `exec 2>&1\n${script}`], 'capture-output': true }
    const { pid } = (await agent.ask('guest-exec', args)) as { pid: number }
    for (;;) {
      const state = (await agent.ask('guest-exec-status', { pid })) as Exec
      const out = Buffer.from(state['out-data'] ?? '', 'base64').toString('utf8')
      if (state.exited) return { code: state.exitcode ?? 128 + (state.signal ?? 0), out: out.replace(/\n$/, '') }
      if (performance.now() > end) {
        await agent.ask('guest-exec', { path: '/bin/kill', arg: ['-KILL', String(pid)] })
        throw new Error(`${options.name}: not done after ${timeoutMs} ms: ${script}`)
      }
      await sleep(LOOK_MS)
    }
  }

  async function must(script: string, timeoutMs?: number): Promise<string> {
    const { code, out } = await run(script, timeoutMs)
    if (code !== 0) throw new Error(`${options.name}: ended with ${code}: ${script}\n${out}`)
    return out
  }

  async function startedAfter(before: string): Promise<void> {
    const end = performance.now() + BOOT_MS
    for (;;) {
      try {
        await agent.synchronise(++syncNumber, 3000)
        if ((await bootId()) !== before) break
      } catch (error) {
        if (hasEnded() || performance.now() > end) throw error
      }
      await sleep(100)
    }
    // The test judges a "degraded" system: it checks what it needs.
    await run('systemctl is-system-running --wait', BOOT_MS)
    if (options.cable) await must(cableScript(options.cable.address))
  }

  const bootId = () => must('cat /proc/sys/kernel/random/boot_id')
  return {
    run,
    must,
    startedAfter,
    bootId,
    consoleTail,
    machine: (command, args) => qmp.ask(command, args),
    plugCable: async (isIn) => {
      await qmp.ask('set_link', { name: 'cable', up: isIn })
    },
    cutPower: async () => {
      const before = await bootId()
      await qmp.ask('system_reset')
      await startedAfter(before)
    },
    stop: async () => {
      agent.close()
      qmp.close()
      await stop()
    },
  }
}

interface Exec {
  exited: boolean
  exitcode?: number
  signal?: number
  'out-data'?: string
}

/** The address is configured in the guest, so that it survives a reboot. */
function cableScript(address: string): string {
  return `f=/etc/systemd/network/lab.network; grep -q ^Address= $f && exit 0
    echo 'Address=${address}' >>$f && networkctl reload && for i in $(seq 100); do
      ip -4 -oneline address show scope global | grep -q ' ${address} ' && exit 0; sleep 0.1; done; exit 1`
}

interface Machine {
  image: string
  bed: string
  disk: string
  options: GuestOptions
}

function qemuArguments({ image, bed, disk, options }: Machine): string[] {
  const args = [...acceleratorArguments(image), '-machine', 'q35', '-smp', String(options.processors ?? 1)]
  args.push('-m', String(options.memoryMb ?? 512), '-nodefaults', '-no-user-config', '-display', 'none')
  args.push('-kernel', join(image, 'vmlinuz'), '-initrd', join(image, 'initrd'))
  args.push(
    '-append',
    `console=ttyS0 quiet no_timer_check panic=-1 mitigations=off net.ifnames=0${options.lends ? ' lends' : ''}`,
  )
  args.push('-serial', `file:${join(bed, 'console')}`, '-qmp', `unix:${join(bed, 'qmp')},server=on,wait=off`)
  args.push('-drive', `file=${disk},if=virtio,format=qcow2,cache=unsafe`, '-device', 'virtio-rng-pci')
  args.push('-device', 'virtio-serial', '-chardev', `socket,id=agent,path=${join(bed, 'agent')},server=on,wait=off`)
  args.push('-device', 'virtserialport,chardev=agent,name=org.qemu.guest_agent.0')
  if (options.lends) args.push('-virtfs', `local,path=${options.lends},mount_tag=host,security_model=none,readonly=on`)
  if (options.cable) {
    const { path, listens } = options.cable
    args.push('-netdev', `stream,id=cable,server=${listens ? 'on' : 'off'},addr.type=unix,addr.path=${path}`)
    const mac = `52:54:00:00:00:${listens ? '01' : '02'}`
    args.push('-device', `virtio-net-pci,netdev=cable,mac=${mac},romfile=`)
  }
  return [...args, ...(options.devices ?? [])]
}

function readTail(path: string): string {
  try {
    return readFileSync(path, 'utf8').slice(-3000)
  } catch {
    return ''
  }
}

/** The checkout that this file is part of. */
export const checkout = dirname(dirname(import.meta.dirname))
