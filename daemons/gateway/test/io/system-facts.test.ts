/** What the machine tells of itself. */
import { join } from 'node:path'
import t from 'tap'
import { readSystemFacts, readTemperatures } from '../../io/system-facts.ts'

t.test('temperatures are those of the thermal zones, without one that does not answer', async (t) => {
  const folder = t.testdir({
    thermal_zone0: { type: 'cpu-thermal\n', temp: '48312\n' },
    thermal_zone1: { type: 'off\n' },
    thermal_zone2: { type: 'broken\n', temp: 'none\n' },
    thermal_zone3: { temp: '-5000\n' },
    cooling_device0: { type: 'fan\n' },
  })
  t.same(await readTemperatures(folder), [
    { name: 'cpu-thermal', celsius: 48.312 },
    { name: 'thermal_zone3', celsius: -5 },
  ])
  t.same(await readTemperatures(join(folder, 'nothing')), [], 'a machine without sensors')
})

t.test('A.endpoints memory, load, clock and kernel are told as numbers and texts', async (t) => {
  const facts = await readSystemFacts()
  t.match(facts, { kernel: /./, node: /^v24/, memory: { rssBytes: Number }, load: [Number, Number, Number] })
  t.ok(facts.systemUptimeMs > 0 && facts.memory.freeBytes < facts.memory.totalBytes)
})
