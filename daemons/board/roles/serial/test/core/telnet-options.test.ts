/** Options of Telnet: row by row, what we answer, and that no exchange continues for ever. */
import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import {
  createTelnetOptions,
  nextOptionState,
  type OptionWord,
  type TelnetOptionEvent,
  type TelnetOptionState,
  telnetOptionTable,
} from '../../core/telnet-options.ts'
import { OPTION, type OptionVerb } from '../../wire/telnet.ts'

t.test('RFC 1143 the table row by row', async (t) => {
  const rows: Record<TelnetOptionState, Record<TelnetOptionEvent, TelnetOptionState>> = {
    off: { offered: 'asked', agreed: 'on', declined: 'refused' },
    asked: { offered: 'asked', agreed: 'on', declined: 'refused' },
    on: { offered: 'on', agreed: 'on', declined: 'refused' },
    refused: { offered: 'refused', agreed: 'on', declined: 'refused' },
  }
  t.strictSame(Object.keys(telnetOptionTable), Object.keys(rows))
  for (const [state, row] of Object.entries(rows))
    for (const [event, next] of Object.entries(row))
      t.equal(nextOptionState(state as TelnetOptionState, event as TelnetOptionEvent), next, `${state} ${event}`)
})

const said = (word: OptionWord | undefined) => (word ? `${word.verb} ${word.option}` : undefined)

t.test('RFC 2217, 1 the server offers BINARY, SGA and COM-PORT, and agreement is not answered', async (t) => {
  const options = createTelnetOptions()
  t.strictSame(options.offers().map(said), ['will 0', 'will 1', 'will 3', 'do 0', 'do 3', 'do 44'])
  t.equal(options.hear({ verb: 'do', option: OPTION.binary }), undefined)
  t.equal(options.hear({ verb: 'will', option: OPTION.comPort }), undefined)
  t.equal(options.ours(OPTION.binary), 'on')
  t.equal(options.theirs(OPTION.comPort), 'on')
})

t.test('python3-serial asks us to do COM-PORT too, and is told that we do', async (t) => {
  const options = createTelnetOptions()
  options.offers()
  t.equal(said(options.hear({ verb: 'do', option: OPTION.comPort })), 'will 44')
  t.equal(options.hear({ verb: 'do', option: OPTION.comPort }), undefined)
})

t.test('RFC 855 an unknown option is refused each time it is requested, and its refusal is not answered', async (t) => {
  const options = createTelnetOptions()
  t.equal(said(options.hear({ verb: 'do', option: 24 })), 'wont 24')
  t.equal(said(options.hear({ verb: 'do', option: 24 })), 'wont 24')
  t.equal(said(options.hear({ verb: 'will', option: 31 })), 'dont 31')
  t.equal(options.hear({ verb: 'wont', option: 31 }), undefined)
  t.equal(options.hear({ verb: 'dont', option: 24 }), undefined)
  t.equal(said(options.hear({ verb: 'will', option: OPTION.echo })), 'dont 1', 'the client does not echo')
})

t.test('RFC 854 an option that was on is switched off when the peer says so, once', async (t) => {
  const options = createTelnetOptions()
  options.hear({ verb: 'do', option: OPTION.binary })
  t.equal(said(options.hear({ verb: 'dont', option: OPTION.binary })), 'wont 0')
  t.equal(options.hear({ verb: 'dont', option: OPTION.binary }), undefined)
  t.equal(options.ours(OPTION.binary), 'refused')
})

t.test('two peers like us stop negotiating, whatever was sent before', async (t) => {
  const word = fc.record({
    verb: fc.constantFrom<OptionVerb>('will', 'wont', 'do', 'dont'),
    option: fc.constantFrom(0, 1, 3, 44, 24),
  })
  holds(
    t,
    fc.property(fc.array(word, { maxLength: 20 }), (words) => {
      const [one, other] = [createTelnetOptions(), createTelnetOptions()]
      let toOther: OptionWord[] = one.offers()
      let toOne: OptionWord[] = [...other.offers(), ...words]
      for (let round = 0; round < 60; round++) {
        const answers = toOne.flatMap((heard) => one.hear(heard) ?? [])
        toOne = toOther.flatMap((heard) => other.hear(heard) ?? [])
        toOther = answers
        if (toOne.length === 0 && toOther.length === 0) return true
      }
      return false
    }),
  )
})
