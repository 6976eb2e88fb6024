/** Who installs a proven image: the helper where the machine is the board's own, else a command of the settings. */
import { spawn } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { durationText } from '#kit/bytes/words.ts'
import { Fault } from '#kit/fault.ts'
import type { RootHelper } from '../core/ports.ts'

/** How images are handed over. */
export interface HandOver {
  /** @throws Fault `ota_not_set_up` */
  refuseUnready(): Promise<void>
  /** @throws Fault `helper_absent`, `helper_refused`, `install_command_failed` */
  handOver(path: string): Promise<void>
}

/** The program that the helper runs; its own path, not one that it is told. */
export const HELPER_INSTALLER = '/etc/plantroom/install-firmware'

/** By the helper, as root. @param program looked for before an image is taken */
export function byHelper(helper: RootHelper, program = HELPER_INSTALLER): HandOver {
  return {
    async refuseUnready() {
      await access(program, constants.F_OK).catch((cause) => {
        throw new Fault('ota_not_set_up', `this board takes no image, as there is no ${program} to install it`, {
          cause,
        })
      })
    },
    handOver: async (path) => void (await helper.ask('install', [path])),
  }
}

/** By a command, as the board's user. @param command program and words; the image's path comes behind them */
export function byCommand(command: readonly string[], timeoutMs: number): HandOver {
  return {
    async refuseUnready() {
      if (command.length === 0)
        throw new Fault('ota_not_set_up', 'this board takes no image, as ota.command names no program to install it')
    },
    handOver: (path) => run(command, path, timeoutMs),
  }
}

/** Characters of what the command prints that are told. */
const MOST_SAID = 300

function run([program = '', ...words]: readonly string[], path: string, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // A group of its own, so that what it starts ends with it when its time is up.
    const child = spawn(program, [...words, path], { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-MOST_SAID)
      })
    let isLate = false
    const late = setTimeout(() => {
      isLate = true
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    }, timeoutMs)
    function fail(how: string, cause?: unknown): void {
      clearTimeout(late)
      const tail = said.trim() === '' ? '' : `: ${said.trim()}`
      reject(new Fault('install_command_failed', `${program} ${how}${tail}`, { cause }))
    }
    child.on('error', (cause) => fail('could not be run', cause))
    // Not `close`: what it left running in the background may hold its streams open.
    child.on('exit', (code, signal) => {
      clearTimeout(late)
      if (code === 0) resolve()
      else if (isLate) fail(`took longer than ${durationText(timeoutMs)}`)
      else setImmediate(() => fail(code === null ? `was ended by ${signal}` : `ended with ${code}`))
    })
  })
}
