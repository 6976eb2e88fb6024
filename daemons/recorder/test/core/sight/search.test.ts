import fc from 'fast-check'
import t from 'tap'
import { readSearch } from '../../../core/sight/search.ts'

const zone = 'Europe/Berlin'
/** A Tuesday. */
const now = Date.parse('2031-03-11T14:00:00+01:00')
const at = (text: string) => Date.parse(`${text}+01:00`)
const facts = {
  ...{ now, zone },
  cameras: [
    { id: 'a', name: 'Door' },
    { id: 'b', name: 'Door 2 (rear)' },
    { id: 'c', name: 'Loading bay' },
  ],
}

t.test('A.investigation words are labels, names of cameras and times; others are said to be ignored', async (t) => {
  t.same(readSearch('white van at Loading Bay yesterday', facts), {
    ...{ labels: ['van'], cameraIds: ['c'], ignored: ['white'] },
    ...{ since: at('2031-03-10T00:00'), until: at('2031-03-11T00:00') - 1 },
  })
  t.match(readSearch('people door 2 (rear) this morning', facts), {
    ...{ labels: ['person'], cameraIds: ['b'], ignored: [] },
    ...{ since: at('2031-03-11T05:00'), until: at('2031-03-11T12:00') - 1 },
  })
  t.match(readSearch('cars and dogs, door', facts), { labels: ['car', 'dog'], cameraIds: ['a'], since: null })
  t.match(readSearch('monday night', facts), { since: at('2031-03-10T21:00'), until: at('2031-03-11T06:00') - 1 })
  t.match(readSearch('tonight evening', facts), { since: at('2031-03-10T17:00'), ignored: ['tonight'] })
  t.match(readSearch('last 2 hours vehicle', facts), { since: now - 7_200_000, until: now, labels: ['vehicle'] })
  t.match(readSearch('last 99999 weeks', facts), { since: 0, until: now }, 'as far as there is anything')
  t.match(readSearch('last 1e-9 hours', facts), { since: now, until: now })
  t.match(readSearch('2031-02-01', facts), { since: at('2031-02-01T00:00') })
  for (const day of ['2031-02-31', '9999-12-31', '0000-01-01'])
    t.match(readSearch(day, facts), { ignored: [day], since: null, until: null }, day)
  t.match(readSearch('2031-99-99 constructor __proto__', facts).ignored, ['2031-99-99', 'constructor', 'proto'])
})

t.test('A.investigation a camera is found by its name, whatever signs are in it', async (t) => {
  const named = [
    'İstanbul gate',
    'Küche'.normalize('NFD'),
    '車庫',
    'Door-1',
    'Front_door',
    'Yard, north',
    "O'Neil & Co. #2",
    'a/b:c;d=e@f!~`"<>%',
    '$^.*+?()[]{}|\\',
  ]
  for (const name of named) {
    const cameras = [{ id: 'x', name }, ...facts.cameras]
    t.match(readSearch(`person ${name} today`, { ...facts, cameras }), { cameraIds: ['x'], ignored: [] }, name)
    const typed = name.normalize(name === name.normalize('NFC') ? 'NFD' : 'NFC')
    t.match(
      readSearch(`person ${typed}`, { ...facts, cameras }),
      { cameraIds: ['x'], ignored: [] },
      `${name}, typed otherwise`,
    )
    t.match(readSearch('person', { ...facts, cameras }), { labels: ['person'], cameraIds: [] }, `beside ${name}`)
  }
})

t.test('whatever is searched for, it is read, and a span has numbers', async () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' })), (text) => {
      const { since, until } = readSearch(text, facts)
      return [since, until].every((one) => one === null || Number.isFinite(one))
    }),
  )
})
