/** A board that takes firmware, for end-to-end tests: keys, a command that keeps what it gets, and uploads of every kind. */

import type { KeyObject } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Manifest } from '../wire/firmware-image.ts'
import { imageOf, keysForTest } from './made-image.ts'
import { type RunningBoard, startBoard } from './running-board.ts'

export interface OtaRig {
  board: RunningBoard
  /** The half of the key that the board does not have. */
  privateKey: KeyObject
  /** Signed with the key that the board knows. */
  make(payload: Uint8Array, otherwise?: Partial<Manifest>): Buffer
  /** Where the command puts an image. */
  installed: string
  /** Files of updates in the state folder, by name. */
  left(): string[]
}

/**
 * @param sets further settings
 * @param within put before the command; `STATE` becomes the state folder
 * @param keep how the command keeps an image: by `cp`, or by `ln` where a copy would take gigabytes
 */
export async function otaRig(
  t: Test,
  { sets = [] as string[], within = [] as string[], keep = 'cp' as 'cp' | 'ln' } = {},
): Promise<OtaRig> {
  const keys = keysForTest(t)
  const folder = mkdtempSync(join(tmpdir(), 'ota-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const installed = join(folder, 'installed')
  const command = join(folder, 'install')
  writeFileSync(command, `#!/bin/sh\n${keep} "$1" ${installed}\n`)
  chmodSync(command, 0o755)
  const stateFolder = join(folder, 'state')
  const board = await startBoard(t, {
    stateFolder,
    within: within.map((word) => word.replaceAll('STATE', stateFolder)),
    sets: [`ota.keys=["${keys.folder}"]`, `ota.command=["${command}"]`, 'ota.reserve_bytes=0', ...sets],
  })
  const firmware = join(`/proc/${board.pid}/root`, stateFolder, 'firmware')
  const left = () => (existsSync(firmware) ? readdirSync(firmware) : [])
  const { privateKey } = keys
  return { board, privateKey, make: (payload, otherwise) => imageOf(privateKey, payload, otherwise), installed, left }
}

/** What came of an upload; status 0 where there was no answer. */
export interface Sent {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: an answer is what a test looks into
  body: any
}

/** How an image is sent. */
export interface SendOptions {
  /** The client hangs up after so many bytes. */
  cutAt?: number
  /** It sends so many, then nothing more, and waits. */
  stallAt?: number
  /** It sends so many, and the rest when this resolves. */
  pause?: { at: number; until: Promise<unknown> }
  /** What it says in Content-Length; null: it sends in chunks. */
  lengthBytes?: number | null
}

/** `POST /api/ota`, as a client that may misbehave. */
export function send(url: string, image: Uint8Array, options: SendOptions = {}): Promise<Sent> {
  const { cutAt, stallAt, pause, lengthBytes = image.length } = options
  const headers = lengthBytes === null ? {} : { 'content-length': lengthBytes }
  return new Promise((resolve) => {
    const call = request(`${url}/api/ota`, { method: 'POST', headers, agent: false })
    call.on('error', () => resolve({ status: 0, body: undefined }))
    call.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) })
        call.destroy()
      })
    })
    const part = image.subarray(0, cutAt ?? stallAt)
    if (cutAt !== undefined) call.write(part, () => setTimeout(() => call.destroy(), 20))
    else if (stallAt !== undefined) call.write(part)
    else if (pause) {
      call.write(image.subarray(0, pause.at))
      void pause.until.then(() => call.end(image.subarray(pause.at)))
    } else call.end(image)
  })
}
