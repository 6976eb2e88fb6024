/** Test of the row of api/socket.ts in core/memory.ts: in a process of its own, where little has to be collected. */
import t from 'tap'
import { readJson } from '#kit/http/dialect.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../core/memory.ts'

t.test('messages under way take no more than their row says', async (t) => {
  const size = 65_536
  for (const piece of ['{},', '[],', '0,', '{"1":0},', '"a",']) {
    const message = Buffer.from(`[${piece.repeat(Math.floor((size - 2) / piece.length)).slice(0, -1)}]`)
    const bytes = await heapBytesOf(() => readJson(message))
    const row = rowOf(memoryPlan().rows, 'requests over WebSockets', { 'socket.request_bytes': size })
    t.ok(bytes < row.allBytes, `${piece}: ${bytes} bytes, of ${row.allBytes}`)
  }
})
