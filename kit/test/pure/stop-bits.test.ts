import t from 'tap'
import { stopBitsFault } from '#kit/pure/line.ts'

t.test('only the pairs that no UART has are refused', async (t) => {
  const refused = [5, 6, 7, 8].flatMap((data) =>
    [1, 1.5, 2].filter((stop) => stopBitsFault(data, stop) !== undefined).map((stop) => `${data}/${stop}`),
  )
  t.same(refused, ['5/2', '6/1.5', '7/1.5', '8/1.5'])
})
