/** Looking again and again at something of the daemon, as long as a part shows it. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { CallFault, NoContact } from './call.ts'
import { isLost } from './contact.ts'

/** What a part knows of its looking. */
export interface Look {
  /** What the daemon refused last, as a sentence; null while all is well. Lack of contact is said by the banner. */
  refused: string | null
  /** Looks at once, after the hand changed something; resolves when that look is done. */
  again(): Promise<void>
}

/**
 * Asks while the part is drawn and the page is looked at, `everyMs` after the answer before. While there is no contact
 * it rests, and goes on by itself.
 * @param about what is asked about; when it changes, it is asked at once
 */
export function useLook(ask: () => Promise<unknown>, everyMs: number, about = ''): Look {
  const [refused, setRefused] = useState<string | null>(null)
  const latest = useRef(ask)
  latest.current = ask

  async function again(): Promise<void> {
    try {
      await latest.current()
      setRefused(null)
    } catch (thrown) {
      if (thrown instanceof CallFault) setRefused(thrown.message)
      else if (!(thrown instanceof NoContact)) throw thrown
    }
  }

  const isBack = !isLost.value
  useEffect(() => {
    let isOver = false
    let timer: ReturnType<typeof setTimeout> | undefined
    async function turn(): Promise<void> {
      if (!document.hidden && isBack) await again()
      if (!isOver) timer = setTimeout(() => void turn(), everyMs)
    }
    void turn()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [about, isBack])
  return { refused, again }
}
