/** How noise is put into words. */
import t from 'tap'
import { noiseRemedy, noiseText } from '../../wire/noise-words.ts'

const none = { exchanges: 100, damaged: 0, missing: 0, twice: 0 }

t.test('says how many answers were wrong, and how', async (t) => {
  t.equal(noiseText({ ...none, damaged: 16 }), '16 of its last 100 answers were damaged')
  t.equal(noiseText({ ...none, exchanges: 12, damaged: 1 }), '1 of its last 12 answers was damaged')
  t.equal(noiseText({ ...none, missing: 7, twice: 2 }), 'of its last 100 answers 7 did not come and 2 came twice')
  t.equal(noiseText(none), 'all of its last 100 answers came whole')
})

t.test('names what to check by the most frequent fault', async (t) => {
  t.match(
    noiseRemedy({ ...none, damaged: 16, missing: 3 }),
    /^Look at the cable, the termination, and whether a second/,
  )
  t.match(noiseRemedy({ ...none, damaged: 3, missing: 16 }), /two units have this number/)
  t.match(noiseRemedy({ ...none, damaged: 3, twice: 16 }), /^A repeater, an echo of the adapter or a second master/)
})
