/** A board that was flashed with an image, in QEMU: its page and its ssh are forwarded, its power can be cut. For tests. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkout } from '../vm/guest.ts'
import { type JsonLine, openJsonLine } from '../vm/json-line.ts'

/** From power-on to a login prompt, a page, a command, ms: emulated, on a busy machine. */
const START_MS = 600_000
/** A command in the board, unless said otherwise, ms. */
const COMMAND_MS = 120_000
/** Between two looks, ms. */
const LOOK_MS = 500
/** Names of the daemons' ports as the board has them. */
const PORTS = { ssh: 22, page: 80, gateway: 3132 } as const
/** Table of devices of a Raspberry Pi 3 B, as it is called on the card. */
const PI3_TABLE = 'bcm2837-rpi-3-b.dtb'

/** Result of a command in the board; `out` is both streams. */
interface Outcome {
  code: number
  out: string
}

export interface Board {
  /** Base of the board's page, and of the gateway's. */
  page: string
  gateway: string
  /** Runs a command as root, over ssh. Rejects if it does not end in time. */
  run(command: string, timeoutMs?: number, input?: string): Promise<Outcome>
  /** Resolves with its output. Rejects if it ended with anything but 0. */
  must(command: string, timeoutMs?: number, input?: string): Promise<string>
  /** Waits until a text has come on the console `times` times since the start. */
  told(text: string | RegExp, times?: number): Promise<void>
  /** Waits until the page answers; resolves with the milliseconds since power-on. */
  answers(): Promise<number>
  /** Waits until `command` ends with 0. */
  until(command: string, timeoutMs?: number): Promise<void>
  console(): string
  /** A command of QEMU's monitor, as people type it. */
  monitor(line: string): Promise<string>
  /** Cuts the power. Nothing of the board is left but its disk. */
  cut(): Promise<void>
}

/** Boards that are emulated: one whose firmware is UEFI, and one that comes to it by U-Boot. */
type BoardKind = 'virt' | 'pi3'

interface BoardOptions {
  kind?: BoardKind
  /** The disk, qcow2. */
  disk: string
  /** A folder of this start's own. */
  bed: string
  /** A folder with what the first stage of a Raspberry Pi loads. */
  firmware: string
  /** Private key whose public half is on the card. */
  key: string
  /** Path of a socket that stands for the wire of a serial line. */
  wire?: string
  /** A snapshot of the running board to go on from. */
  from?: string
}

/** Powers a board on. Resolves at once. */
async function startBoard(options: BoardOptions): Promise<Board> {
  const { bed, key } = options
  const ports = Object.fromEntries(
    await Promise.all(Object.keys(PORTS).map(async (name) => [name, await freePort()])),
  ) as Record<keyof typeof PORTS, number>
  const log = join(bed, 'console')
  writeFileSync(log, '')
  const beganMs = performance.now()
  // It never outlives the test.
  const words = ['--pdeathsig', 'KILL', 'nice', '-n', '5', 'qemu-system-aarch64', ...qemuArguments(options, ports)]
  const qemu = spawn('setpriv', words, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  qemu.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2000)
  })
  const ended = new Promise<void>((resolve) => qemu.once('close', () => resolve()))
  let hasEnded = false
  void ended.then(() => {
    hasEnded = true
  })
  const qmp: JsonLine = await openJsonLine(join(bed, 'qmp'), 20_000)
  await qmp.ask('qmp_capabilities')
  const console = () => readFileSync(log, 'utf8')

  async function wait(what: string, isDone: () => Promise<boolean>, timeoutMs = START_MS): Promise<void> {
    const end = performance.now() + timeoutMs
    while (!(await isDone())) {
      if (hasEnded || performance.now() > end)
        throw new Error(
          `${what}: ${hasEnded ? 'the emulator has ended' : `not within ${timeoutMs} ms`}\n${said}${console().slice(-3000)}`,
        )
      await sleep(LOOK_MS)
    }
  }
  function run(command: string, timeoutMs = COMMAND_MS, input?: string): Promise<Outcome> {
    return callSsh({ port: ports.ssh, key, command, timeoutMs, input })
  }
  async function must(command: string, timeoutMs?: number, input?: string): Promise<string> {
    const { code, out } = await run(command, timeoutMs, input)
    if (code !== 0) throw new Error(`ended with ${code}: ${command}\n${out}`)
    return out
  }
  const page = `http://127.0.0.1:${ports.page}`
  return {
    page,
    gateway: `http://127.0.0.1:${ports.gateway}`,
    run,
    must,
    console,
    told: (text, times = 1) => wait(`${text} on the console`, async () => console().split(text).length > times),
    async answers() {
      await wait('the page answers', async () => {
        const answer = await fetch(`${page}/`, { signal: AbortSignal.timeout(5000) }).catch(() => undefined)
        return answer?.ok === true
      })
      return performance.now() - beganMs
    },
    until: (command, timeoutMs) =>
      wait(command, async () => (await run(command).catch(() => ({ code: 255 }))).code === 0, timeoutMs),
    monitor: async (line) => String(await qmp.ask('human-monitor-command', { 'command-line': line })),
    async cut() {
      qmp.close()
      qemu.kill('SIGKILL')
      await ended
    },
  }
}

interface Call {
  port: number
  key: string
  command: string
  timeoutMs: number
  input: string | undefined
}

/** @param call its `input` is a file that the command reads */
function callSsh({ port, key, command, timeoutMs, input }: Call): Promise<Outcome> {
  const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR', 'ConnectTimeout=20']
  const words = [...options.flatMap((option) => ['-o', option]), '-i', key, '-p', String(port), 'root@127.0.0.1']
  const shell = `exec timeout ${Math.ceil(timeoutMs / 1000)} ssh ${[...words, command].map(quoted).join(' ')} <${quoted(input ?? '/dev/null')} 2>&1`
  return new Promise((resolve) => {
    const child = spawn('bash', ['-c', shell], { stdio: ['ignore', 'pipe', 'ignore'] })
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    child.once('close', (code) => resolve({ code: code ?? 255, out: out.trimEnd() }))
  })
}

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

function qemuArguments(options: BoardOptions, ports: Record<keyof typeof PORTS, number>): string[] {
  const forwards = Object.entries(PORTS).map(
    ([name, port]) => `hostfwd=tcp:127.0.0.1:${ports[name as keyof typeof PORTS]}-:${port}`,
  )
  const args = ['-nodefaults', '-no-user-config', '-display', 'none', '-accel', 'tcg,thread=multi']
  args.push('-qmp', `unix:${join(options.bed, 'qmp')},server=on,wait=off`)
  args.push('-netdev', ['user', 'id=net', 'restrict=on', ...forwards].join(','))
  args.push(...(options.kind === 'pi3' ? raspberryPi(options) : uefiBoard(options)))
  if (options.from) args.push('-loadvm', options.from)
  return args
}

function uefiBoard({ disk, bed, wire }: BoardOptions): string[] {
  const args = ['-machine', 'virt,gic-version=2', '-cpu', 'cortex-a72', '-smp', '2', '-m', '1024']
  args.push('-bios', '/usr/share/qemu-efi-aarch64/QEMU_EFI.fd', '-serial', `file:${join(bed, 'console')}`)
  // What the board has written is in this machine's memory at once: a killed emulator loses what a power cut would.
  args.push(
    '-drive',
    `file=${disk},if=none,id=card,format=qcow2,cache=unsafe`,
    '-device',
    'virtio-blk-pci,drive=card,bootindex=1',
  )
  args.push('-device', 'virtio-net-pci,netdev=net,romfile=', '-device', 'virtio-rng-pci')
  args.push('-device', 'i6300esb', '-action', 'watchdog=reset', '-smbios', 'type=1,serial=PLR00001234')
  if (wire)
    args.push('-chardev', `socket,id=wire,path=${wire},server=on,wait=off`, '-device', 'pci-serial,chardev=wire')
  return args
}

/**
 * A Raspberry Pi 3 B. QEMU stands for its first stage, which it has no emulation of: it loads what config.txt on the card
 * names, from the card. Network is USB there, of another make. Either serial line may be the console.
 */
function raspberryPi({ disk, bed, firmware }: BoardOptions): string[] {
  const args = ['-machine', 'raspi3b', '-kernel', join(firmware, 'u-boot.bin'), '-dtb', join(firmware, PI3_TABLE)]
  for (const line of ['uart0', 'uart1'])
    args.push('-chardev', `file,id=${line},path=${join(bed, 'console')},append=on`, '-serial', `chardev:${line}`)
  // A card has no cache, and nobody tells it to write: each write is in this machine's memory when it is answered.
  args.push('-drive', `file=${disk},if=sd,format=qcow2,cache.writeback=off,cache.no-flush=on`)
  args.push('-device', 'usb-net,netdev=net')
  return args
}

/** A flashed card, and whoever powers a board on with it. */
export interface Bed {
  /** The card, qcow2. */
  disk: string
  /** A folder of this test's own. */
  folder: string
  /** Powers the board on; the one before has to be off. */
  powerOn(options: { kind?: BoardKind; disk?: string; wire?: string; from?: string }): Promise<Board>
  /** Cuts the power, and removes everything. */
  close(): Promise<void>
}

/** Flashes a card of 4 GB with the image that make image has left, and says on it who may come in by ssh. */
export function openBed(): Bed {
  const made = join(checkout, 'build/image')
  const folder = mkdtempSync(join(made, 'bed-'))
  const key = join(folder, 'key')
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
  const raw = join(folder, 'card.raw')
  execFileSync('cp', ['--sparse=always', join(made, 'disk.img'), raw])
  // An SD card has a power of two.
  execFileSync('truncate', ['--size=4G', raw])
  execFileSync('mcopy', ['-i', `${raw}@@1M`, `${key}.pub`, '::authorized_keys'])
  for (const file of ['u-boot.bin', PI3_TABLE])
    execFileSync('mcopy', ['-i', `${raw}@@1M`, `::${file}`, join(folder, file)])
  const disk = join(folder, 'card.qcow2')
  execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', raw, '-F', 'raw', disk])
  let starts = 0
  let last: Board | undefined
  return {
    disk,
    folder,
    async powerOn(options) {
      starts += 1
      const bed = join(folder, String(starts))
      mkdirSync(bed)
      last = await startBoard({ disk, ...options, bed, key, firmware: folder })
      return last
    },
    async close() {
      await last?.cut()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
