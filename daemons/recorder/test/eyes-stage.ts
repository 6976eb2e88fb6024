/** The process plantroom-eyes as a recorder has it: begun, asked for pictures, ended. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { eyesCommand } from '../io/eyes-command.ts'
import { createWorkerReader, writeWorkerMessage } from '../wire/worker-message.ts'

const [EYES] = eyesCommand() ?? []

/** The folder of the model that comes along. */
export const MODEL = join(dirname(EYES ?? ''), 'models/nanodet-g')

/** Why plates cannot be tried here, or false. */
export const noPlateModels =
  !existsSync(join(MODEL, '../plates/manifest.json')) && 'the networks for plates are not built: make detector'

/** Why it cannot be tried here, or false. */
export const noEyes = EYES === undefined && 'the detector is not built, or npm was not reached: make detector'

type Head = Readonly<Record<string, unknown>>

/** A picture as the protocol has it. */
export interface Rgb {
  width: number
  height: number
  rgb: Uint8Array
}

/** @param args of the program */
export function startEyes(...args: string[]) {
  if (EYES === undefined) throw new Error('there is no detector')
  const child = spawn(EYES, args, { cwd: '/', env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8' }, stdio: 'pipe' })
  const heard: Head[] = []
  const awaited: ((head: Head) => void)[] = []
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const read = createWorkerReader(0, { isLittleEndian: true })
  child.stdout.on('data', (chunk: Uint8Array) => {
    for (const { head } of read(chunk)) {
      const next = awaited.shift()
      if (next) next(head)
      else heard.push(head)
    }
  })
  child.stdin.on('error', () => {})
  const over = new Promise<number | null>((resolve) => child.once('close', resolve))
  let asked = 0

  function said(): Promise<Head> {
    const head = heard.shift()
    if (head) return Promise.resolve(head)
    const ended = over.then((code) => {
      throw new Error(`plantroom-eyes ended with ${code}: ${complaints}`)
    })
    return Promise.race([new Promise<Head>((resolve) => awaited.push(resolve)), ended])
  }
  function tell(head: object, body: Uint8Array): void {
    for (const part of writeWorkerMessage(head, [body], { isLittleEndian: true })) child.stdin.write(part)
  }
  return {
    said,
    tell,
    over,
    pid: child.pid,
    complaints: () => complaints,
    async look({ height, rgb, width }: Rgb, more: object = {}): Promise<Head> {
      asked++
      tell({ kind: 'picture', id: asked, camera: 'c1', at: 0, width, height, format: 'rgb24', ...more }, rgb)
      return await said()
    },
    async recognise({ height, rgb, width }: Rgb): Promise<Head> {
      asked++
      tell({ kind: 'recognise', id: asked, width, height, format: 'rgb24' }, rgb)
      return await said()
    },
    /** @returns the code it ended with */
    async end(): Promise<number | null> {
      child.stdin.end()
      return await over
    },
  }
}
