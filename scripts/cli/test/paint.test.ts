/** Colours on a terminal. */
import { t } from 'tap'
import { isPainted, paintedText } from '../paint.ts'

t.test('a terminal is painted, and nothing else; NO_COLOR and a dumb terminal are heeded', async (t) => {
  t.equal(isPainted(true, {}), true)
  t.equal(isPainted(true, { NO_COLOR: '' }), true, 'empty is not set, by no-color.org')
  t.equal(isPainted(true, { NO_COLOR: '1' }), false)
  t.equal(isPainted(true, { TERM: 'dumb' }), false)
  t.equal(isPainted(undefined, {}), false, 'a pipe')
})

t.test('what stands out has its colour and ends it, what does not is plain', async (t) => {
  const said = ['health ', { tone: 'bad', text: 'no answer' }, '\n'] as const
  t.equal(paintedText(said, true), 'health \x1b[31mno answer\x1b[0m\n')
  t.equal(paintedText(said, false), 'health no answer\n')
  t.equal(paintedText([{ tone: 'good', text: '' }], true), '', 'nothing is not painted')
})

t.test('a name that has controls in it paints and moves nothing, whatever its part', async (t) => {
  const name = '\x1b[32mgood\x1b[2J'
  for (const said of [name, [name]]) t.notMatch(paintedText(said, true), '\x1b')
  const inner = paintedText([{ tone: 'quiet', text: name }], true).slice('\x1b[2m'.length, -'\x1b[0m'.length)
  t.match(inner, 'good')
  t.notMatch(inner, '\x1b')
})
