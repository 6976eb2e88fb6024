/**
 * Brings an image once, in a process of its own, so that it can be killed. Arguments: the folder of the board, and the
 * server's address. Prints what came of it, as JSON.
 */
import { Fault } from '../../pure/fault.ts'
import { applyImage } from '../../release/apply-image.ts'
import { imagePartsAt } from './image-stage.ts'

const [folder = '', url = ''] = process.argv.slice(2)

async function main(): Promise<void> {
  try {
    process.stdout.write(JSON.stringify(await applyImage(imagePartsAt(folder, url))))
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    process.stdout.write(JSON.stringify({ fault: fault.code, message: fault.message }))
  }
}

void main()
