/** Short messages: shown for a moment, and read by screen readers. */
import { createContext, type ComponentChildren } from "preact";
import { useCallback, useContext, useRef, useState } from "preact/hooks";

const SHOWN_MS = 4_000;

interface Message {
  readonly id: number;
  readonly text: string;
}

const Announce = createContext<(text: string) => void>(() => {});

/** Returns the function that shows a message, from anywhere below the `Announcer`. */
export function useAnnounce(): (text: string) => void {
  return useContext(Announce);
}

export function Announcer({ children }: { children: ComponentChildren }) {
  const [messages, setMessages] = useState<readonly Message[]>([]);
  const count = useRef(0);
  const announce = useCallback((text: string) => {
    const id = ++count.current;
    setMessages((before) => [...before.slice(-2), { id, text }]);
    setTimeout(() => setMessages((now) => now.filter((one) => one.id !== id)), SHOWN_MS);
  }, []);
  return (
    <Announce.Provider value={announce}>
      {children}
      <div class="toasts" role="status" aria-live="polite">
        {messages.map(({ id, text }) => (
          <div key={id} class="toast">
            {text}
          </div>
        ))}
      </div>
    </Announce.Provider>
  );
}
