/**
 * A board that accepts firmware, for end-to-end tests: keys, a command that keeps each image, and all kinds of uploads.
 */

import type { KeyObject } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Owner } from '#kit/test/running-daemon.ts'
import type { Manifest } from '../wire/firmware-image.ts'
import { imageOf, keysForTest } from './made-image.ts'
import { type RunningBoard, startBoard } from './running-board.ts'

export interface OtaRig {
  board: RunningBoard
  /** The private key, which the board does not have. */
  privateKey: KeyObject
  /** Makes an image signed with the key that the board knows. */
  make(payload: Uint8Array, otherwise?: Partial<Manifest>): Buffer
  /** Where the command stores an image. */
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
  t: Owner,
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

/** Result of an upload; status 0 if there was no answer. */
export interface Sent {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: an answer is what a test looks into
  body: any
}

/** How an image is sent. */
export interface SendOptions {
  /** The client hangs up after this many bytes. */
  cutAt?: number
  /** It sends this many bytes, then nothing more, and waits. */
  stallAt?: number
  /** It sends `at` bytes, and the rest when `until` resolves. */
  pause?: { at: number; until: Promise<unknown> }
  /** Value of Content-Length; null: it sends in chunks. */
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
