import t from 'tap'
import { hours, isWithinHours } from '#kit/pure/setting-keys.ts'

const faultOf = (more: readonly string[], value: unknown) =>
  (hours('hours of something', more) as unknown as { check(value: unknown): string | undefined }).check(value)

t.test('hours of a day are told by an example where they are none, and never by a regular expression', async (t) => {
  for (const value of ['', '02:00-05:00', '23:59-00:00']) t.equal(faultOf([], value), undefined, value)
  for (const value of ['3-4', '02:00', '24:00-05:00', '02:60-05:00', ' 02:00-05:00', 'never', 5, null])
    t.equal(faultOf([], value), 'expected hours such as 02:00-05:00, or nothing', String(value))
  t.equal(faultOf(['never'], 'never'), undefined)
  t.equal(faultOf(['never'], 'Never'), 'expected hours such as 02:00-05:00, never, or nothing')
})

t.test('hours may pass midnight', async (t) => {
  const at = (window: string) => [0, 90, 180, 239, 240, 1380].filter((minute) => isWithinHours(window, minute))
  t.same(at('03:00-04:00'), [180, 239])
  t.same(at('23:00-02:00'), [0, 90, 1380])
  t.same(at('05:00-05:00'), [0, 90, 180, 239, 240, 1380])
})
