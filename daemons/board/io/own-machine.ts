/** The machine as the board treats it: its own, or somebody else's that is left as it is. */
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { BoardSettings } from '../core/board-settings.ts'
import { keepMachineName } from '../core/machine-name-care.ts'
import type { Kept, Rebooter, RestartReason } from '../core/machine-ports.ts'
import { createNetworkCare, foreignNetwork, type NetworkCare } from '../core/network-care.ts'
import { type NetworkRecord, wantedAddress } from '../core/network-record.ts'
import type { RootHelper } from '../core/ports.ts'
import { createRebooter } from '../core/rebooting.ts'
import type { StartBook } from '../core/start-book.ts'
import { defaultInterface } from './default-interface.ts'
import { helperNetwork } from './helper-network.ts'
import { machineName } from './machine-name.ts'

/** Keys of the table `machine`. */
export interface MachineConfig {
  owned: boolean
  interface: string
  confirm_ms: number
  take_back_ms: number
  take_back_tries: number
  restart_after_ms: number
  restart_s: number
}

/** What it is made of. */
export interface OwnMachineParts {
  clock: Clock
  log: Log
  config: MachineConfig
  helper: RootHelper
  settings: Readonly<BoardSettings>
  /** Which save of theirs the settings are. */
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
  /** Brings name and address to what the settings want; never rejects. */
  start(): Promise<void>
  /** What went wrong with the name, for people. */
  nameTrouble(): string | undefined
}

/** Time this daemon takes to begin anew. Measured: under a second on a small board, most of it reading its program. */
const SELF_S = 2

/** @throws Fault of the file that the network is kept in */
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
