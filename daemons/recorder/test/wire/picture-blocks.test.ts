import t from 'tap'
import { rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../core/memory.ts'
import { BLOCK_BYTES, createBlockPool } from '../../wire/picture-blocks.ts'

t.test('a block is used again once nobody holds it, and not before', async (t) => {
  const pool = createBlockPool(1e9)
  const block = pool.take(1)
  t.equal(block.bytes.length, BLOCK_BYTES)
  block.hold()
  block.release()
  t.not(pool.take(1).bytes, block.bytes)
  block.release()
  t.equal(pool.take(1).bytes, block.bytes)
})

t.test('who holds what was released is a fault of the program, as its bytes may be of another picture', async (t) => {
  const block = createBlockPool(0).take(1)
  block.release()
  t.throws(() => block.hold())
  t.throws(() => block.release())
})

t.test('a large picture has a block that fits it', async (t) => {
  const pool = createBlockPool(1e9)
  const large = pool.take(3 * BLOCK_BYTES)
  t.equal(large.bytes.length, 4 * BLOCK_BYTES)
  large.release()
  t.equal(pool.take(1).bytes.length, BLOCK_BYTES)
  t.equal(pool.take(2 * BLOCK_BYTES + 1).bytes, large.bytes)
})

t.test('no more is kept for the next pictures than may', async (t) => {
  const row = rowOf(memoryPlan().rows, 'blocks for the next', { 'cameras.spare_bytes': 10 * BLOCK_BYTES })
  const pool = createBlockPool(row.allBytes)
  const blocks = Array.from({ length: 20 }, () => pool.take(1))
  for (const block of blocks) block.release()
  t.equal(blocks.filter(({ bytes }) => bytes.length === 0).length, 10, 'the memory of the others is free at once')
  const again = new Set(Array.from({ length: 20 }, () => pool.take(1).bytes))
  t.equal(blocks.filter(({ bytes }) => again.has(bytes)).length, 10)
})
