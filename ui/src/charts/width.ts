/** The width that an element has, as it changes: pictures are drawn to it rather than scaled, so that their text stays readable. */
import { useCallback, useRef, useState } from "preact/hooks";

/** 0 until the element stands: a picture of another width would be drawn for nothing. The ref is for the element, whenever it comes. */
export function useWidth<E extends HTMLElement>(): [ref: (element: E | null) => void, width: number] {
  const [width, setWidth] = useState(0);
  const observer = useRef<ResizeObserver | undefined>(undefined);
  const ref = useCallback((element: E | null): void => {
    observer.current?.disconnect();
    if (element === null) return;
    setWidth(element.clientWidth);
    observer.current = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.current.observe(element);
  }, []);
  return [ref, width];
}
