import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { answerData } from '../../../core/data/answer-data.ts'
import type { Session } from '../../../core/session.ts'
import { elevatedCaller, plainCaller, worldOf } from './data-house.ts'

const TURN_MS = 60
const TURNS = 7

const zone = Array.from({ length: 1000 }, (_, at) => ({
  name: `Zone ${at}`,
  device_id: at >> 1,
  subsystem_id: 3,
  address: String(at),
  type: 'light',
  elevated: false,
  min: 0,
  max: 100,
  unit: '%',
  position: at,
  overrides: null,
}))
const attribute = Array.from({ length: 1000 }, (_, at) => ({
  name: at % 4 === 0 ? 'api_key' : 'mode',
  value: at % 3 === 0 ? JSON.stringify({ host: 'x', password: at }) : String(at),
  secure: false,
  system_target: 'zone',
  target_id: at,
}))
const world = worldOf({ zone, attribute })

/** Bytes of an answer, as the surface would write them. */
function asked(entity: string, caller: Session): number {
  const outcome = answerData(world, caller, entity, '_limit=1000')
  if (outcome instanceof Promise || 'json' in outcome.body) throw new Error('no rows')
  const { body } = outcome
  if ('text' in body) return Buffer.byteLength(body.text)
  return body.pieces.reduce((sum, { length }) => sum + length, 0)
}

/** The best of several turns, in calls a second of processor time; turns of all alternate. */
function rates(calls: readonly (() => unknown)[]): number[] {
  const best = calls.map(() => 0)
  for (let turn = 0; turn < TURNS; turn++)
    for (const [at, call] of calls.entries()) {
      const startMs = performance.now()
      const startCpu = process.cpuUsage()
      let count = 0
      for (; performance.now() - startMs < TURN_MS; count++) call()
      const { user, system } = process.cpuUsage(startCpu)
      best[at] = Math.max(best[at] ?? 0, (count * 1e6) / (user + system))
    }
  return best
}

t.test('a thousand zones come five times as fast as from SQLite, or faster', async (t) => {
  const database = new DatabaseSync(':memory:')
  const columns = Object.keys(zone[0] ?? {})
  database.exec(`CREATE TABLE zone (id INTEGER PRIMARY KEY, ${columns.join(', ')}, created_at, updated_at)`)
  const insert = database.prepare(`INSERT INTO zone VALUES (NULL, ${columns.map(() => '?').join(', ')}, 1000, 2000)`)
  for (const row of zone) insert.run(...Object.values(row).map((value) => (typeof value === 'boolean' ? 0 : value)))
  const all = database.prepare('SELECT * FROM zone ORDER BY id LIMIT 1000')
  const [ours = 0, theirs = 0] = rates([
    () => asked('zone', plainCaller),
    () => Buffer.byteLength(JSON.stringify(all.all())),
  ])
  database.close()
  t.comment(`${ours.toFixed(0)} a second, ${theirs.toFixed(0)} from SQLite`)
  t.ok(ours > 5 * theirs, `${ours} > 5 * ${theirs}`)
})

t.test('who is not elevated waits at most 1.3 times as long', async (t) => {
  for (const entity of ['zone', 'attribute']) {
    const [plain = 0, elevated = 0] = rates([() => asked(entity, plainCaller), () => asked(entity, elevatedCaller)])
    t.comment(`${entity}: ${plain.toFixed(0)} a second, ${elevated.toFixed(0)} elevated`)
    t.ok(plain * 1.3 > elevated, entity)
  }
})
