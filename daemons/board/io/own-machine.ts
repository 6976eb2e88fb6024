/**
 * The machine: owned by the board and controlled through the helper that runs as root, or somebody else's and left
 * alone.
 */
import { readdir, readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { reachableAddresses } from '#kit/net/address.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import { askWithFd } from '#native/usbip/index.ts'
import {
  createNetworkCare,
  foreignNetwork,
  keepMachineName,
  type NetworkCare,
  type NetworkMachine,
  type NetworkRecord,
  wantedAddress,
} from '../core/machine/network.ts'
import type { Blinker, Kept, Rebooter, RestartReason, RootHelper } from '../core/machine/ports.ts'
import { createRebooter, type StartBook } from '../core/machine/restart.ts'
import type { BoardSettings } from '../core/settings/settings.ts'
import { type HelperVerb, helperLine, LONGEST_ANSWER, openHelperAnswer } from '../wire/helper-line.ts'
import { defaultInterface } from './interfaces.ts'
import { machineName } from './machine-facts.ts'

// Requests to the helper that runs as root, over its socket: one connection per request.

/** How to reach the helper. */
interface RootHelperOptions {
  /** Its socket. */
  path: string
  /** Timeout of one answer. */
  timeoutMs: number
  /** Timeout of the answer to `install`, which takes as long as the installer. */
  installMs: number
}

/** The helper of this machine, whether or not it is running. */
export function createRootHelper({ path, timeoutMs, installMs }: RootHelperOptions): RootHelper {
  async function lineOf(verb: HelperVerb, line: string, fd: number | undefined): Promise<string> {
    // Only the addon can send a descriptor, and it blocks a thread of the pool while it waits: not used for `install`.
    if (fd === undefined) return askOnce(path, line, verb === 'install' ? installMs : timeoutMs)
    try {
      return await askWithFd(path, line, fd, { timeoutMs, mostBytes: LONGEST_ANSWER })
    } catch (cause) {
      throw helperAbsent(path, cause)
    }
  }
  return {
    ask: async (verb, args = [], fd) => openHelperAnswer(await lineOf(verb, helperLine(verb, args), fd)),
  }
}

/** Resolves with the whole answer, at most LONGEST_ANSWER characters. */
function askOnce(path: string, line: string, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path })
    let text = ''
    const late = setTimeout(() => fail(new Error(`no answer within ${durationText(timeoutMs)}`)), timeoutMs)
    function fail(cause: Error): void {
      clearTimeout(late)
      socket.destroy()
      reject(helperAbsent(path, cause))
    }
    function finish(): void {
      clearTimeout(late)
      socket.destroy()
      if (text === '') reject(helperAbsent(path, new Error('it hung up')))
      else resolve(text)
    }
    socket.setEncoding('latin1')
    socket.on('error', fail)
    socket.on('data', (more: string) => {
      text = (text + more).slice(0, LONGEST_ANSWER + 1)
      if (text.includes('\n') || text.length > LONGEST_ANSWER) finish()
    })
    socket.on('end', finish)
    socket.write(line)
  })
}

function helperAbsent(path: string, cause: unknown): Fault {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new Fault('helper_absent', `the helper that runs as root does not answer at ${path}: ${why}`, { cause })
}

// Sets the address through the helper.

/** @param interfaceName the interface to set; undefined if the machine has none */
export function helperNetwork(helper: RootHelper, interfaceName: () => string | undefined): NetworkMachine {
  let chosen: string | undefined
  /** The same while the board runs: an address without a gateway takes the default route away, by which it was chosen. */
  function name(): string {
    chosen ??= interfaceName()
    if (chosen === undefined)
      throw new Fault('no_interface', 'this machine has no network interface to set an address on')
    return chosen
  }
  return {
    hasAddress: () =>
      reachableAddresses().some(
        (one) => one.interface === chosen && one.family === 'IPv4' && !one.address.startsWith('169.254.'),
      ),
    setAddress: async ({ dns, gw, ip, prefix }) =>
      void (await helper.ask('network', [
        ...['static', name(), `${ip}/${prefix}`, gw || '-'],
        ...(dns === undefined ? [] : [dns.replaceAll(' ', '')]),
      ])),
    setDhcp: async () => void (await helper.ask('network', ['dhcp', name()])),
    ownAddresses: () => ['127.0.0.1', '::1', ...reachableAddresses().map(({ address }) => address)],
  }
}

// The lamp: preferably one meant for identification, else one that shows activity.

/** How to drive the lamp. */
interface LampOptions {
  /** Used because lamps belong to root. */
  helper: RootHelper
  /** Name below /sys/class/leds; empty: the most suitable one. */
  name: string
  folder?: string
}

/** Best first. */
const SUITABLE_LAMPS = [/identify|locate|uid/i, /status|heartbeat|user/i, /^act$|led0|activity|sys/i]

/** Lamps that belong to a key, a port or a card. */
const FOREIGN_LAMPS = /(caps|num|scroll)lock|kana|compose|mute|backlight|^(eth|wlan|mmc|phy|input)\d/i

/** Kernel triggers that blink a lamp, best first. */
const BLINKING_TRIGGERS = ['timer', 'heartbeat', 'pattern']

/** State of a lamp before it blinked. */
interface Lamp {
  name: string
  trigger: string
  brightness: string
}

/** @source linux/Documentation/leds/leds-class.rst */
export function createLampBlinker({ helper, name, folder = '/sys/class/leds' }: LampOptions): Blinker {
  let lamp: Lamp | undefined
  const read = async (lamp: string, file: string) => (await readFile(join(folder, lamp, file), 'utf8')).trim()

  async function find(): Promise<string | undefined> {
    const names = await readdir(folder).catch((): string[] => [])
    if (name !== '') return names.find((one) => one === name)
    const own = names.filter((one) => !FOREIGN_LAMPS.test(one)).sort()
    return SUITABLE_LAMPS.map((kind) => own.find((one) => kind.test(one))).find((one) => one !== undefined)
  }

  return {
    async start() {
      const found = await find()
      if (found === undefined) return false
      // All triggers, with the present one in brackets.
      const triggers = (await read(found, 'trigger')).split(/\s+/)
      const present = triggers.find((one) => one.startsWith('['))?.slice(1, -1) ?? 'none'
      const blinking = BLINKING_TRIGGERS.find((one) => triggers.includes(one))
      if (blinking === undefined) return false
      const brightness = await read(found, 'brightness')
      await helper.ask('lamp', [found, blinking, '0'])
      lamp = { name: found, trigger: present, brightness }
      return true
    },
    async stop() {
      const was = lamp
      lamp = undefined
      if (was) await helper.ask('lamp', [was.name, was.trigger, was.brightness])
    },
  }
}

/** For a machine that the board does not own: its lamps are left alone. */
export const noLamp: Blinker = {
  start: async () => false,
  stop: async () => {},
}

// The machine.

/** Keys of the table `machine`. */
interface MachineConfig {
  owned: boolean
  interface: string
  confirm_ms: number
  take_back_ms: number
  take_back_tries: number
  restart_after_ms: number
  restart_s: number
}

/** Dependencies and settings. */
interface OwnMachineParts {
  clock: Clock
  log: Log
  config: MachineConfig
  helper: RootHelper
  settings: Readonly<BoardSettings>
  /** Number of the save that the settings come from. */
  saves: number
  starts: StartBook
  networkFile: Kept<NetworkRecord>
  /** Awaited before a restart. */
  settle(): Promise<void>
  restartSelf(reason: RestartReason): void
  onChange(): void
}

/** What the board does to its machine. */
export interface OwnMachine {
  rebooter: Rebooter
  network: NetworkCare
  /** Applies name and address from the settings; never rejects. */
  start(): Promise<void>
  /** What went wrong with the name, for people. */
  nameTrouble(): string | undefined
}

/** Time this daemon takes to restart. Measured: under a second on a small board, mostly for reading its program. */
const SELF_S = 2

/** @throws Fault of the network record's file */
export async function openOwnMachine(by: OwnMachineParts): Promise<OwnMachine> {
  const { clock, log, config, helper, settings, starts } = by
  const network = config.owned ? await ownNetwork(by) : foreignNetwork()
  let trouble: string | undefined
  return {
    network,
    rebooter: createRebooter({
      clock,
      log,
      ownsMachine: config.owned,
      afterMs: config.restart_after_ms,
      settle: by.settle,
      intend: starts.intend,
      rebootMachine: () => helper.ask('reboot'),
      restartSelf: by.restartSelf,
      about: { machineS: config.restart_s, selfS: SELF_S },
    }),
    async start() {
      if (config.owned)
        trouble = await keepMachineName({
          log,
          present: machineName(),
          wanted: settings.hostname,
          setName: (name) => helper.ask('hostname', [name]),
        })
      await network.start()
    },
    nameTrouble: () => trouble,
  }
}

function ownNetwork(by: OwnMachineParts): Promise<NetworkCare> {
  const { clock, log, config, helper, settings, saves, starts, networkFile, onChange } = by
  return createNetworkCare({
    clock,
    log,
    file: networkFile,
    machine: helperNetwork(helper, () => config.interface || defaultInterface()),
    bootId: starts.started.bootId,
    wanted: { address: wantedAddress(settings), saves },
    confirmMs: config.confirm_ms,
    retryMs: config.take_back_ms,
    retries: config.take_back_tries,
    onChange,
  })
}
