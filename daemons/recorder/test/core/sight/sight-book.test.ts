import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { createSightBook, NOTHING_CHOSEN, type SightChoice } from '../../../core/sight/sight-book.ts'

function stage(choice: SightChoice, isIncluded: boolean, hasExternal = true) {
  const saved: SightChoice[] = []
  const licence = {
    requireFeature(feature: string) {
      if (!isIncluded) throw new Fault('license_feature', feature)
    },
  }
  const book = createSightBook({
    ...{ choice, hasExternal, licence, onChange: () => {} },
    save: async (next) => void saved.push(next),
  })
  return { book, saved }
}

const refused = { code: 'license_feature', message: 'ai' }

t.test('3A.license a licence without ai refuses to switch the external detector on, and nothing else', async (t) => {
  const { book, saved } = stage(NOTHING_CHOSEN, false)
  await t.rejects(book.change({ kind: 'external' }, ['a']), refused)
  for (const kind of ['motion', 'camera'] as const) await book.change({ kind }, ['a'])
  await book.change({ fps: 1, cameras: { a: { enabled: false } } }, ['a'])
  await book.change({ cameras: { a: { enabled: true } } }, ['a'])
  t.equal(saved.length, 4)
})

t.test('3A.license what is on stays on, and is saved and switched off without one', async (t) => {
  const on: SightChoice = {
    kind: 'external',
    fps: 2,
    cameras: { b: { enabled: false, fps: null, trackOffsetMs: null } },
  }
  const { book } = stage(on, false)
  const known = ['a', 'b']
  await book.change({ kind: 'external', fps: 4, cameras: { a: { trackOffsetMs: 100 } } }, known)
  await t.rejects(book.change({ cameras: { b: { enabled: true } } }, known), refused, 'a camera more')
  await book.change({ cameras: { a: { enabled: false } } }, known)
  await book.change({ fps: 3 }, ['a'])
  t.same(book.of('b'), { enabled: true, fps: 3, trackOffsetMs: null }, 'one that is gone is forgotten, and no growth')
  await book.change({ kind: 'motion' }, ['a'])
  await t.rejects(book.change({ kind: 'external' }, ['a']), refused, 'once it is off it is not switched on')
  await book.change({ kind: 'off' }, ['a'])
  t.match(book.choice(), { kind: 'off', cameras: { a: { enabled: false } } })
})

t.test('an external detector that is not there is refused', async (t) => {
  const { book } = stage(NOTHING_CHOSEN, true, false)
  await t.rejects(book.change({ kind: 'external' }, []), { code: 'no_detector' })
  await book.change({ kind: 'motion' }, [])
  t.equal(book.lacking(), undefined)
})

t.test(
  'an external detector that was removed since is said to lack, and what else was chosen is changed',
  async (t) => {
    const { book } = stage({ ...NOTHING_CHOSEN, kind: 'external' }, true, false)
    t.match(book.lacking(), { code: 'no_detector', message: /install plantroom-detector/ })
    await book.change({ fps: 4 }, [])
    t.match(book.choice(), { kind: 'external', fps: 4 })
    await book.change({ kind: 'off' }, [])
    t.equal(book.lacking(), undefined)
  },
)
