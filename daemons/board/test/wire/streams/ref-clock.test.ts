/** Tests of wire/streams/description.ts. */
import t from 'tap'
import { isSameClock, readRefClock, refClockText } from '../../../wire/streams/description.ts'

const GRANDMASTER = '39-A7-94-FF-FE-07-CB-D0'

t.test('RFC 7273 4.8 a grandmaster is written with its identity and domain, and read back', async (t) => {
  const text = `ptp=IEEE1588-2008:${GRANDMASTER}:0`
  t.equal(refClockText({ kind: 'ptp', grandmaster: GRANDMASTER, domain: 0 }), text)
  t.same(readRefClock(text), { kind: 'ptp', grandmaster: GRANDMASTER, domain: 0 })
})

t.test('other spellings of a grandmaster are read as the same', async (t) => {
  const forms = [
    `ptp=IEEE1588-2008:${GRANDMASTER.toLowerCase()}:0`,
    `ptp=IEEE1588-2008:${GRANDMASTER}`,
    `ptp=IEEE1588-2008:${GRANDMASTER}:domain-nmbr=0`,
    `ptp=IEEE1588-2008:${GRANDMASTER.replaceAll('-', ':')}:0`,
    `ptp=IEEE1588-2019:${GRANDMASTER}:0`,
    `PTP=ieee1588-2008:${GRANDMASTER.replaceAll('-', '')}:0`,
  ]
  for (const form of forms) t.same(readRefClock(form), { kind: 'ptp', grandmaster: GRANDMASTER, domain: 0 }, form)
})

t.test('RFC 7273 4.4 a card of the sender names its own clock', async (t) => {
  t.equal(refClockText({ kind: 'localmac', mac: '7C-E9-D3-1B-9A-AF' }), 'localmac=7C-E9-D3-1B-9A-AF')
  t.same(readRefClock('localmac=7c:e9:d3:1b:9a:af'), { kind: 'localmac', mac: '7C-E9-D3-1B-9A-AF' })
})

t.test('clocks that cannot be compared are kept as they are written', async (t) => {
  for (const text of [
    'ptp=IEEE1588-2008:traceable',
    'ptp=traceable',
    'gps',
    'ntp=10.0.0.1',
    `ptp=IEEE1588-2008:${GRANDMASTER}:200`,
  ]) {
    t.same(readRefClock(text), { kind: 'other', text })
    t.equal(refClockText(readRefClock(text)), text)
  }
})

t.test('two clocks are the same if grandmaster and domain are', async (t) => {
  const ptp = readRefClock(`ptp=IEEE1588-2008:${GRANDMASTER}:0`)
  t.ok(isSameClock(ptp, readRefClock(`ptp=IEEE1588-2008:${GRANDMASTER.toLowerCase()}`)))
  t.notOk(isSameClock(ptp, readRefClock(`ptp=IEEE1588-2008:${GRANDMASTER}:1`)))
  t.notOk(isSameClock(ptp, readRefClock('gps')))
  t.notOk(isSameClock(readRefClock('gps'), readRefClock('gps')))
  t.ok(isSameClock(readRefClock('localmac=7c:e9:d3:1b:9a:af'), readRefClock('localmac=7C-E9-D3-1B-9A-AF')))
})
