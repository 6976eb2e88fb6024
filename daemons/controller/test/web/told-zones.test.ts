/** Tests of web/state.ts. */
import t from 'tap'
import type { ZoneState, ZoneView } from '../../core/live/zones.ts'
import { createToldZones, STEP_MS } from '../../web/state.ts'

const told = (id: number, level: number): ZoneState => ({ id, values: { level }, device: null })
const listed = (id: number, level: number): ZoneView => ({
  ...told(id, level),
  ...{ name: `Zone ${id}`, type: null, unit: null, min: null, max: null, verbs: [], refused: null },
})
const levelOf = (zones: ReadonlyMap<number, ZoneView>, id: number) => zones.get(id)?.values.level

t.test('an update that comes while the list is on its way is newer than the list', async (t) => {
  const zones = createToldZones()
  zones.hear([told(2, 5)])
  zones.ask()
  zones.hear([told(1, 70)])
  zones.list([listed(1, 10), listed(2, 20)], 0)
  const { zones: drawn, dueAt } = zones.draw(0)
  t.equal(levelOf(drawn, 1), 70, 'sent after the list was requested')
  t.equal(levelOf(drawn, 2), 20, 'sent before: the list is newer')
  t.equal(dueAt, null)
  zones.ask()
  zones.list([listed(1, 10)], 1)
  t.equal(levelOf(zones.draw(1).zones, 1), 10, 'and is forgotten with the next list')
  t.notOk(zones.draw(1).zones.has(2), 'a removed zone stays removed')
})

t.test('a value changes at most four times a second, and the last one is never lost', async (t) => {
  const zones = createToldZones()
  zones.list([listed(1, 0), listed(2, 0)], 0)
  zones.hear([told(1, 1)])
  t.equal(levelOf(zones.draw(1000).zones, 1), 1, 'at once')
  zones.hear([told(1, 2)])
  zones.hear([told(1, 3), told(2, 4)])
  const early = zones.draw(1080)
  t.equal(levelOf(early.zones, 1), 1)
  t.equal(levelOf(early.zones, 2), 4, 'another zone does not wait')
  t.equal(early.dueAt, 1000 + STEP_MS)
  const late = zones.draw(1000 + STEP_MS)
  t.equal(levelOf(late.zones, 1), 3)
  t.equal(late.dueAt, null)
})

t.test('an unchanged zone is the same object as before, and one that is not listed is left out', async (t) => {
  const zones = createToldZones()
  zones.list([listed(1, 0), listed(2, 0)], 0)
  const before = zones.draw(0).zones
  zones.hear([told(2, 1), told(9, 1)])
  const after = zones.draw(500).zones
  t.equal(after.get(1), before.get(1))
  t.not(after.get(2), before.get(2))
  t.notOk(after.has(9))
  zones.clear()
  t.equal(zones.draw(900).zones.size, 0)
})
