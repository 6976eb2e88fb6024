/**
 * Boards that are killed while something is being saved: an acknowledged save is there, completely. That a file is whole
 * however its writer ends is shown by dozens of kills of the store alone (kit/test/store/whole-file.test.ts); here whole
 * boards, one for each way in, show that it is kept by that store before it is acknowledged.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type RunningBoard, startBoard } from './running-board.ts'

const KILLS = 5
const TIMEOUT_MS = 170_000

/** Something that is saved, as a number: a mixture of two saves is not a number. */
interface Kind {
  sets?: string[]
  path: string
  form(number: number): Record<string, string>
  /** The password that a board has now; absent: none. */
  password?(kept: number): string
  /**
   * The board's value: a number that was saved, undefined before the first, or a text that says what it has instead.
   * @param range saves that are allowed: those from the last acknowledged on
   */
  find(board: RunningBoard, range: { kept: number; next: number }): Promise<number | string | undefined>
}

/** Compares what was saved under a number with what is there, field by field. */
function numberOf(number: number, there: object, wanted: object): number | string {
  const seen = Object.fromEntries(Object.keys(wanted).map((name) => [name, (there as Record<string, unknown>)[name]]))
  return JSON.stringify(seen) === JSON.stringify(wanted) ? number : JSON.stringify(seen)
}

const config: Kind = {
  path: '/api/config',
  form: (n) => ({ name: `Save ${n}`, port: String(2024 + n), link_ms: String(1 + n / 100), sap: String(n % 2) }),
  async find(board) {
    const { body } = await board.get('/api/config')
    const n = body.port - 2024
    if (body.port === 5004) return undefined
    return numberOf(n, body, { name: `Save ${n}`, port: 2024 + n, link_ms: 1 + n / 100, sap: n % 2 === 1 })
  },
}

const usbip: Kind = {
  sets: ['board.role=usbip', 'usbip.port=0'],
  path: '/api/usbip',
  form: (n) => ({
    enabled: '0',
    allow: `10.0.${n >> 8}.${n & 255}`,
    device: `0403:${n.toString(16).padStart(4, '0')}`,
  }),
  async find(board) {
    const { body } = await board.get('/api/usbip')
    if (body.allow === '') return undefined
    const [, , high, low] = body.allow.split('.').map(Number)
    const n = high * 256 + low
    return numberOf(n, body, { allow: `10.0.${high}.${low}`, choice: usbip.form(n).device })
  },
}

const serial: Kind = {
  sets: ['serial.devices=["/dev/ttyS77", "/dev/ttyS78"]'],
  path: '/api/serial',
  form: (n) => ({ port: '2', label: `Save ${n}`, tcp_port: String(20_000 + n), allow: `10.0.0.${n & 255}` }),
  async find(board) {
    const { body } = await board.get('/api/serial')
    const port = body.ports[1]
    const n = port.tcp_port - 20_000
    if (port.label === '') return undefined
    return numberOf(n, port, { label: `Save ${n}`, tcp_port: 20_000 + n, allow: `10.0.0.${n & 255}` })
  },
}

const passwords: Kind = {
  path: '/api/password',
  form: (n) => ({ password: passwordOf(n) }),
  password: passwordOf,
  async find(board, { kept, next }) {
    for (let n = next - 1; n >= Math.max(1, kept); n--)
      if ((await board.get('/api/status', passwordOf(n))).status === 200) return n
    return (await board.get('/api/status')).status === 200 ? undefined : 'a password that nobody set'
  },
}

function passwordOf(number: number): string {
  return number === 0 ? '' : `the password ${number}`
}

interface Tally {
  /** How long a save takes on this machine: the board is killed within three of them. */
  saveMs: number
  kills: number
  acknowledged: number
  cutOff: number
}

/** One folder through many lives. */
async function lane(t: Test, kind: Kind, kills: number): Promise<Tally> {
  const stateFolder = mkdtempSync(join(tmpdir(), 'power-cut-'))
  t.teardown(() => rmSync(stateFolder, { recursive: true, force: true }))
  const tally: Tally = { saveMs: 0, kills: 0, acknowledged: 0, cutOff: 0 }
  const range = { kept: 0, next: 1 }
  for (let life = 0; life <= kills; life++) {
    const board = await startBoard(t, { sets: [...sets, ...(kind.sets ?? [])], stateFolder })
    const found = await kind.find(board, range)
    // A save sent but not acknowledged can be there or not; an acknowledged one is there, or something newer.
    const isGood = found === undefined ? range.kept === 0 : typeof found === 'number' && isWithin(found, range)
    t.ok(
      isGood,
      `${kind.path}, life ${life}: found ${found ?? 'nothing'}, ${range.kept} of ${range.next - 1} acknowledged`,
    )
    if (typeof found === 'number') range.kept = found
    if (life === kills) await board.stop()
    else await cutShort(board, kind, { range, tally })
  }
  return tally
}

function isWithin(number: number, { kept, next }: { kept: number; next: number }): boolean {
  return number >= Math.max(1, kept) && number < next
}

/** Saves one after the other until the board is killed, at any moment. */
async function cutShort(
  board: RunningBoard,
  kind: Kind,
  { range, tally }: { range: { kept: number; next: number }; tally: Tally },
): Promise<void> {
  let isDead = false
  // The first life has one undisturbed save, whose time is measured.
  if (tally.acknowledged === 0) await save(board, kind, { range, tally })
  const killed = new Promise<void>((resolve) =>
    setTimeout(
      async () => {
        isDead = true
        await board.stop('SIGKILL')
        resolve()
      },
      Math.random() * 3 * tally.saveMs,
    ),
  )
  // Between its end and its start a restarting board accepts no connection.
  while (!isDead)
    if (!(await save(board, kind, { range, tally }))) await new Promise((resolve) => setTimeout(resolve, 5))
  await killed
  tally.kills++
}

/** @returns whether there was an answer at all */
async function save(
  board: RunningBoard,
  kind: Kind,
  { range, tally }: { range: { kept: number; next: number }; tally: Tally },
): Promise<boolean> {
  const number = range.next++
  const sentMs = performance.now()
  const password = kind.password?.(range.kept) || undefined
  const answer = await board.post(kind.path, kind.form(number), password).catch(() => undefined)
  if (answer?.status === 200) {
    range.kept = number
    tally.acknowledged++
    tally.saveMs = performance.now() - sentMs
  } else tally.cutOff++
  return answer !== undefined
}

const sets = ['mdns.enabled=false', 'machine.restart_after_ms=60']

t.test(
  'the saved state is always the old or the new one, complete, however the board ends',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const kinds = [config, config, serial, usbip, passwords]
    const tallies = await Promise.all(kinds.map((kind) => lane(t, kind, KILLS / kinds.length)))
    for (const [index, { kills, acknowledged, cutOff }] of tallies.entries())
      t.comment(`${kinds[index]?.path}: ${kills} kills, ${acknowledged} saves acknowledged, ${cutOff} cut off`)
    // How many saves a lane makes, and how many are cut off, is random: in all lanes together there are some.
    const inAll = (of: keyof Tally) => tallies.reduce((sum, tally) => sum + tally[of], 0)
    t.equal(inAll('kills'), KILLS)
    t.ok(inAll('acknowledged') > kinds.length, `${inAll('acknowledged')} saves were acknowledged`)
    t.ok(inAll('cutOff') > 0, `${inAll('cutOff')} saves were cut off`)
  },
)
