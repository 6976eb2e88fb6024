/** Tests of core/streams/announcing.ts. */
import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createOwnSession, type OwnStream, sessionLabel } from '../../../core/streams/announcing.ts'
import { OWN_STREAM } from '../../wire/streams/described-stream.ts'

const stream: OwnStream = { ...OWN_STREAM, name: 'Hall', refClock: null }

t.test('RFC 4566 5.2 the version grows with each change, and otherwise stays', async (t) => {
  const clock = fakeClock(1_900_000_000_000)
  const session = createOwnSession(clock, '77')
  t.match(session.describe(stream), { ...stream, sessionId: '77', version: '4108988800' })
  clock.advance(60_000)
  t.equal(session.describe({ ...stream }).version, '4108988800')
  t.equal(session.describe({ ...stream, name: 'Foyer' }).version, '4108988860')
  t.equal(session.describe(stream).version, '4108988861')
  clock.stepEpoch(-1_000_000)
  t.equal(session.describe({ ...stream, channels: 1 }).version, '4108988862', 'also when the clock is set back')
})

t.test('a label has the name and the board, no dots, at most 63 bytes', async (t) => {
  t.equal(sessionLabel('Foyer links', 'board-7'), 'Foyer links board-7')
  t.equal(sessionLabel('Vol. 2', 'board.local'), 'Vol- 2 board-local')
  t.equal(sessionLabel('', 'board-7'), 'board-7')
  t.equal(sessionLabel('', ''), 'board')
  const text = fc.string({ unit: 'grapheme', maxLength: 100 })
  fc.assert(
    fc.property(text, fc.domain(), (name, host) => {
      const label = sessionLabel(name, host)
      return Buffer.byteLength(label) <= 63 && !label.includes('.') && label !== ''
    }),
  )
})
