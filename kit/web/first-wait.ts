/** What stands alone on the page until the daemon has answered for the first time. */

import type { VNode } from 'preact'
import { isLost } from './contact.ts'
import { say } from './lamp.ts'

/** What is waited for, or that nothing answers. @param box what sentences call it, `board` */
export function firstWait(box: string, asks: string): VNode {
  if (isLost.value)
    return say(
      'warn',
      `No contact with this ${box}`,
      'It is asked again every few seconds; this page comes back by itself.',
    )
  return say('busy', asks, 'This usually takes less than a second.')
}
