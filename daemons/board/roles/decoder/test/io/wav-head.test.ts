import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { completeWav } from '../../io/output-pipeline.ts'

/** The header as a stopped wavenc leaves it: lengths are 0. */
function head(extra = 0): Buffer {
  const format = Buffer.alloc(24 + extra)
  format.write('fmt ', 0, 'latin1')
  format.writeUInt32LE(16 + extra, 4)
  return Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVE', 'latin1'), format, Buffer.from('data\0\0\0\0', 'latin1')])
}

t.test('a stopped recording gets its lengths', async (t) => {
  const path = join(t.testdir(), 'x.wav')
  for (const extra of [0, 24]) {
    await writeFile(path, Buffer.concat([head(extra), Buffer.alloc(600, 7)]))
    await completeWav(path)
    const file = await readFile(path)
    t.equal(file.readUInt32LE(4), file.length - 8)
    t.equal(file.readUInt32LE(40 + extra), 600)
    t.same(file.subarray(44 + extra), Buffer.alloc(600, 7), 'and is otherwise unchanged')
  }
})

t.test('a file that is not a recording is left alone', async (t) => {
  const path = join(t.testdir(), 'x')
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('RIFF'),
    Buffer.from('ID3 data 1234567890'),
    head().subarray(0, 40),
  ]) {
    await writeFile(path, bytes)
    await completeWav(path)
    t.same(await readFile(path), bytes)
  }
})
