/** Tests of kit/pure/text.ts. */
import t from 'tap'
import { counted, durationText, withArticle } from '../../pure/text.ts'

t.test('a noun has the article of its pronunciation', async (t) => {
  const nouns = ['encoder', 'attribute', 'av_zone', 'IP address', 'hour', 'M-Bus', 'SDP', 'unknown unit', 'update']
  t.same(
    nouns.map(withArticle),
    nouns.map((noun) => `an ${noun}`),
  )
  const others = ['decoder', 'serial server', 'USB server', 'unit', 'user', 'zone', 'host', 'Stage', 'UART', 'macro']
  t.same(
    others.map(withArticle),
    others.map((noun) => `a ${noun}`),
  )
})

t.test('one is singular, and everything else is plural', async (t) => {
  t.same(
    [0, 1, 2].map((value) => counted(value, 'character')),
    ['0 characters', '1 character', '2 characters'],
  )
  t.equal(counted(2, 'entry', 'entries'), '2 entries')
})

t.test('a duration is in the unit that people use', async (t) => {
  const said: [number, string][] = [
    [0, '0 ms'],
    [300, '300 ms'],
    [999.6, '1 s'],
    [1000, '1 s'],
    [1500, '1.5 s'],
    [24_814, '24.8 s'],
    [59_960, '1 min'],
    [125_000, '2 min 5 s'],
    [3_600_000, '1 h'],
    [3_725_000, '1 h 2 min'],
    [30 * 86_400_000, '30 d'],
    [90_061_000, '1 d 1 h'],
  ]
  for (const [ms, text] of said) t.equal(durationText(ms), text)
})
