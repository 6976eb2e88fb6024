import fc from 'fast-check'
import t from 'tap'
import { checkedPlates, foldedPlate, isOneOff, plainPlate } from '../../../core/recognition/plates.ts'

const box = [0.1, 0.2, 0.3, 0.4]
const sign = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789')
const plate = fc.array(sign, { minLength: 4, maxLength: 10 }).map((signs) => signs.join(''))

t.test('A.events spaces, punctuation and small letters of a plate mean nothing', async (t) => {
  t.equal(plainPlate(' b-xy · 1234\u200b'), 'BXY1234')
  t.equal(plainPlate('ＡＢ１２'), 'AB12', 'wide letters are letters')
  t.equal(plainPlate('京A·12345'), '京A12345')
  t.equal(plainPlate('-- '), '')
  fc.assert(
    fc.property(
      plate,
      fc.array(fc.constantFrom(' ', '-', '.', '·'), { minLength: 12, maxLength: 12 }),
      (text, between) => {
        const spaced = [...text].map((one, at) => `${one.toLowerCase()}${between[at]}`).join('')
        return plainPlate(spaced) === text
      },
    ),
  )
})

t.test('signs that are taken for each other are the same, and folding twice changes nothing', async (t) => {
  for (const [one, other] of ['O0', '5S', '8B', 'I1', 'Z2'].map((pair) => [...pair] as [string, string]))
    t.equal(foldedPlate(`A${one}9`), foldedPlate(`A${other}9`))
  fc.assert(fc.property(plate, (text) => foldedPlate(foldedPlate(text)) === foldedPlate(text)))
})

t.test('one sign that is other, missing or too many is one off, in both directions', async (t) => {
  fc.assert(
    fc.property(plate, fc.nat(9), sign, (text, place, other) => {
      const at = place % text.length
      const missing = text.slice(0, at) + text.slice(at + 1)
      const wrong = `${text.slice(0, at)}${other}${text.slice(at + 1)}`
      const more = `${text.slice(0, at)}${other}${text.slice(at)}`
      return (
        !isOneOff(text, text) &&
        isOneOff(text, missing) &&
        isOneOff(missing, text) &&
        isOneOff(text, more) &&
        isOneOff(text, wrong) === (wrong !== text)
      )
    }),
  )
  t.notOk(isOneOff('ABC123', 'ABC321'))
  t.notOk(isOneOff('ABC123', 'XABC12'), 'two things are wrong')
  t.notOk(isOneOff('ABC1', 'ABC123'))
})

t.test('whatever a detector answers, only plates come of it', async (t) => {
  t.same(checkedPlates(undefined), { plates: [], refused: 0 })
  t.match(checkedPlates([{ text: ' AB 12 ', confidence: 0.5, box }]), { plates: [{ text: 'AB 12' }], refused: 0 })
  t.match(
    checkedPlates([
      { text: 'AB 12', confidence: 0.5, box },
      { text: 'AB 13', confidence: 0.9, box },
    ]).plates.map(({ text }) => text),
    ['AB 13', 'AB 12'],
  )
  const bad = [
    { text: 'A', confidence: 0.5, box },
    { text: 'ABCDEFGH123456789', confidence: 0.5, box },
    { text: 'AB 12', confidence: 1.5, box },
    { text: 'AB 12', confidence: '1', box },
    { text: 'AB 12', confidence: 1, box: [0, 0, 1] },
    { text: 'AB 12', confidence: 1, box: [0.3, 0, 0.1, 1] },
    { text: 'AB\n12', confidence: 1, box },
    { text: 'AB\u202e12', confidence: 1, box },
    { text: 'A1'.repeat(500_000), confidence: 1, box },
    null,
  ]
  for (const one of bad) t.same(checkedPlates([one]), { plates: [], refused: 1 }, JSON.stringify(one).slice(0, 60))
  fc.assert(
    fc.property(fc.anything(), (answer) => {
      const { plates } = checkedPlates(answer)
      return plates.every(({ confidence }) => confidence >= 0 && confidence <= 1)
    }),
  )
})
