/** Width of an element in whole pixels, updated on resize; 0 before the first layout. */

import { useEffect, useState } from "preact/hooks";

export function useElementWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const current = element.current;
    if (!current) return undefined;
    const observer = new ResizeObserver(() => setWidth(Math.floor(current.clientWidth)));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return width;
}
